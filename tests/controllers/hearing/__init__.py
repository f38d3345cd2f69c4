"""Tests of controllers/hearing."""
