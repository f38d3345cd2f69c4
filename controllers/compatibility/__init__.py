"""Which Kubernetes each part needs, and which one there is.

    requirements     the table of the parts, and what of a configuration a version is too old for; pure
    cluster_version  asks the API server once, and tells

Nothing is switched off for it: a version is told, not enforced.
"""
