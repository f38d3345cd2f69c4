"""Fixed pod addresses on a real API server: two replicas behind a balancer, real controllers, pods that somebody runs.

Modules:
    stage    what an operator has applied, and the replicas
    objects  pods that ask for addresses, and what is to be seen of them afterwards
    kubelet  runs pods, as far as the API server can tell
    storm    a thousand creates at once, replicas killed meanwhile
    calico   Calico's custom resources, and Calico's own code
"""
