"""What an admission costs, beside other servers: `python -m tests.bench` or `make bench`.

Modules:
    objects     nodes, pods, Endpoints and EndpointSlices as clusters hold them
    reviews     the reviews that are sent, and the cluster in which they make sense (tests use both, too)
    contenders  the table of servers that are compared
    bare        a cheroot application with a constant answer: what HTTP itself costs in Python
    usage       processor time and memory of a process, from /proc
    measure     one figure at a time: interleaved pairs of runs
    report      figures to medians, a table and JSON
"""
