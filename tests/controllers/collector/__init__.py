"""Tests of controllers/collector."""
