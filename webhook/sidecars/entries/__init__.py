"""What a ConfigMap says -> entries: reading, lint, placeholders, and the catalog of those in force."""
