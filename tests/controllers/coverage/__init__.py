"""Tests of the coverage controller."""
