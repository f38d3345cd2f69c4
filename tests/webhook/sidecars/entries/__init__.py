"""Tests of the entries of sidecar ConfigMaps: reading, lint, placeholders, catalog."""
