"""Tests of controllers/local."""
