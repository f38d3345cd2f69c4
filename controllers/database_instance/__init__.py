"""The DatabaseInstance controller: nothing is deleted before its volumes are gone.

values      facts of one instance and its surroundings, steps, plan
belonging   which claims are the instance's (pure)
plan        facts -> ordered idempotent steps (pure)
ending      the part of the plan for a deleted instance (pure)
keeping     how volumes are kept and remembered (pure)
telling     what the status says (pure)
shapes      the fields that are read of API objects
objects     API objects -> facts (pure)
reading     the facts of one instance, live
doing       a step -> one guarded write
deletions   the deletions under way: metrics
news        a log line and an Event each
reconciler  read -> plan -> write
caches      what is watched
controller  what makes an instance come up, and the wiring
"""
