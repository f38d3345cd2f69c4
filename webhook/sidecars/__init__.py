"""Sidecars: what a ConfigMap says, who gets it, and how it becomes part of a pod.

    entry       what one key of a ConfigMap asks for, as a value
    source      ConfigMap -> entries and faults (parse, lint, expand)
    catalog     all entries that are in force, the last good version of each
    selection   which pod gets which entries, and why not
    injection   entries and a pod -> edits of a draft
    forecast    what would refuse the pod afterwards, or keep it from starting
    mending     repairs of what goes in, as far as the entries allow
    fitting     all of that: repair, warn, leave out or refuse

Pure: `features.sidecar`, `features.workload_warnings`, `gatehouse inject`, `check` and `explain` all decide by these.
"""
