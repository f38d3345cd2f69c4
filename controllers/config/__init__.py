"""The configuration: one module per section; `document` puts them together and reads the file."""
