"""Tests of controllers/compatibility."""
