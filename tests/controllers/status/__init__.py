"""Tests of controllers/status."""
