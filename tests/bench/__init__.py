"""What Gatehouse costs, beside others: `make bench`, `make bench-creates`, `make bench-cache`; `make performance` for all.

Modules:
    objects     nodes, pods, Endpoints and EndpointSlices as clusters hold them
    reviews     the reviews that are sent, and the cluster in which they make sense (tests use both, too)
    contenders  the table of servers that are compared; schedule: which cases, which callers, how long
    peer/       the peer: a webhook with the same rules on controller-runtime (Go); peers builds it and writes its rules
    bare        a cheroot application with a constant answer: what HTTP itself costs in Python
    flask_peer kopf_peer   other ways in Python, with the rule in `injecting`
    equality    whether they decide alike, before anything is timed
    usage       processor time and memory of a process, from /proc
    measure     one figure at a time: interleaved pairs of runs
    report      figures to medians, a table and JSON
    creates     pod creates at a real API server, without a webhook, with Gatehouse, with the peer
    caches      watch caches beside client-go's; follower is ours alone
    command     the command line of the benchmarks at a real API server
    versions    which versions are compared
    results     docs/performance.json: written, read, compared with; targets: what is to be achieved
    page picture   what is made of it: docs/performance.md, the README's section, the picture
"""
