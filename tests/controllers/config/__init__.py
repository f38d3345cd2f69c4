"""Tests of the configuration: decoding, defaults, and that the docs say the same."""
