"""Tests of the testing kit: others rely on it."""
