"""Tests of controllers/process."""
