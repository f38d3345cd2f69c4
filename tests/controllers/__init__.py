"""Tests of `controllers`."""
