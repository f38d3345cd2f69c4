"""Admission, caches, the leader and the API server as one simulation, in which anything may happen between any two steps.

world       the API server: objects, what happened to them, and the invariants that are checked at every write
replicas    caches that are behind, and admission calls that are carried out step by step
leader      the controller's plan, carried out step by step
schedules   one random history from a number, and what has to be true when all has calmed down
"""
