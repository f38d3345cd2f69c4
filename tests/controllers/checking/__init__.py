"""Tests of controllers/checking; what the command makes of it: tests/controllers/cli/test_check*.py."""
