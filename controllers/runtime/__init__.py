"""client-go in miniature: lists, watches and keeps facts of the cluster's objects.

The noun decides, the doer does: `watch`, `backoff`, `store` and `projection` are pure or memory only; `rest` and
`reflector` own the sockets and the threads.

    rest       one HTTP client for the API server: typed errors, timeouts on every call
    resource   what is watched, and how bytes become facts (Protocols and values)
    watch      the list/watch machine: state, observation -> state, effects
    reflector  the thread that performs the machine's effects
    store      indexed facts in memory
    informer   reflector + store + handlers
    lister     what admission rules ask (`webhook.admission.cluster`)
"""
