"""Tests of the runtime: pure machines by transcript, doers against a scripted API server over real HTTP."""
