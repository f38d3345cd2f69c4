"""Tests of the edge-health controller: the plan by table and by property, its writes against a scripted API server."""
