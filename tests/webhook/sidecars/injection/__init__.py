"""Tests of injection: one file per concern, and what must hold for any pod."""
