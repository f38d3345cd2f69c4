"""Tests of the DatabaseInstance controller: the plan by table, its writes against a scripted API server, crashes anywhere."""
