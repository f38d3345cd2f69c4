"""Tests of controllers/explaining."""
