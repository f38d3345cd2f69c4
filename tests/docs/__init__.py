"""The documentation: what is generated of it (`make docs`), and the tests that hold the rest to the truth."""
