"""Gatehouse on a real API server: what its rules and its caches do to a real cluster, never as administrator.

Modules:
    conftest    the cluster, its live nodes, the ServiceAccount; ends everything it started
    nodes       nodes without a kubelet: objects and their Leases
    workloads   namespaces, pods and Services on such nodes
    recorder    the whole history of a collection, by a watch
    gatehouse   the process under test, inside the cluster's network namespace
    registration  webhook configurations and RBAC as an operator applies them
    audit       what the API server's audit log says of one user
    relay       holds back watches, so that a cache lags
    partition   the scenario: a site goes silent
    campaign    the scenario: leadership is forced to change, again and again
        replicas, skewed    several replicas, each with an account and a clock of its own
        forced_changes      what is done to them, to their Lease and to the API server
        turning_votes       gives a leader something to write all the time
        callers             reviews for each replica all the time
        tenure              judges the audit log: who wrote as the leader, and was allowed to
        clinging            a replica that must be caught
"""
