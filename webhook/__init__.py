"""Answers admission reviews.

Everything under this package turns one review into one answer: `objects` reads raw API objects, `admission` holds the
core that every rule shares, `features` has one rule per file, `serving` owns the sockets.

Architecture invariant: nothing here imports `controllers` or the kubernetes package. What a rule may ask of the cluster
is the set of Protocols in `admission.cluster`; whoever starts the process hands in an implementation.
"""
