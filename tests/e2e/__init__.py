"""The installation as users make it: the single binary in its image, two replicas, real pods, and all that can go wrong.

Runs on the project's own cluster (tests/cluster with nodes), or with E2E_CLUSTER=kind on kind.

Modules:
    grounds      the cluster under test, and the machine that its nodes run on: what these tests ask of either kind
    images       the stand-in image of every pod
    installed    Gatehouse as it is installed: its replicas, their processes, its leader
    pods         bodies of pods and workloads, and what became of them
    creating     50 creates a second, each read back; what was refused, and when
    turmoil      what is done to the installation meanwhile
    overlay/     the kustomization that is deployed: everything is on
"""
