"""The DatabaseInstance controller: nothing is deleted before its volumes are gone.

values        facts of one instance and its surroundings, steps, plan
belonging     which claims are the instance's (pure)
plan          facts -> ordered idempotent steps (pure)
ending        the part of the plan for a deleted instance (pure)
snapshotting  what is missing until everything has a snapshot (pure)
keeping       how volumes are kept and remembered (pure)
status        what the status says (pure)
shapes        the fields that are read of API objects
resources     API objects -> facts; what is watched (pure)
live          the facts of one instance, read live
writes        a step -> one guarded write
steps         steps in order, and what is left off after a refusal
memory        what the leader has seen: volumes, orphanings
deletions     the deletions under way, and what fails: metrics
overview      what the status page says (pure)
news          a log line and an Event each
reconciler    read -> plan -> write
caches        the watch caches
keys          what makes an instance come up
controller    the wiring
"""
