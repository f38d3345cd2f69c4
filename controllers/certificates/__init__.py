"""Certificates that look after themselves: made, shared by all replicas, renewed, replaced, and trusted by the API server.

plan        what the Secret holds, what is trusted, what time it is -> one step, and when to look again (pure)
wanted      what the configuration asks for, as values (pure)
secret      the bytes of a Secret <-> what they are worth, and the bodies of the requests that write them
issuing     a step -> the bytes that the Secret is to hold; imports cryptography only when there is something to issue
bundles     what our two webhook configurations trust, and the guarded patch that makes it right (pure)
reading     the Secret and the configurations, followed by every replica; which pair it serves: a new one when the API server
            trusts it, until then the last good one
ensured     before a replica listens: the Secret that all share, made by whoever comes first
following   the same for one process, from its start to its end: found, served, kept up
expiry      when what is served expires, for the metrics
reconciler  one pass of the leader: caches -> plan -> writes
news        what is told of it: log lines, Events, metrics
controller  caches -> passes
"""
