"""Tests of fitting, forecasts and repairs."""
