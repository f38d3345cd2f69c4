"""client-go in miniature: lists, watches and keeps facts of the cluster's objects.

The noun decides, the doer does: `watch`, `backoff`, `store`, `projection`, `election`, `leases` and `event_series` are pure or
memory only; `rest`, `reflector`, `controller`, `elector` and `events` own the sockets and the threads.

    rest       one HTTP client for the API server: typed errors, timeouts on every call
    resource   what is watched, and how bytes become facts (Protocols and values)
    watch      the list/watch machine: state, observation -> state, effects
    reflector  the thread that performs the machine's effects
    store      indexed facts in memory
    informer   reflector + store + handlers
    lister     what admission rules ask (`webhook.cluster`)

    workqueue  keys to work on; `limiters` say when a failed one comes again
    reconcile  one pass over one key: its context, its outcomes, its interceptors
    controller sources -> workqueue -> passes; the threads of it
    freshness  a key waits until the caches have seen its own last write
    damper     which deeds somebody keeps undoing, and wait
    election   the Lease machine: state, observation, moment -> state, effect; `leases` reads and writes the object
    elector    the thread that performs it, starts and stops led work, and the guard that each led request asks
    events     the Event recorder; `event_series` decides what is written
"""
