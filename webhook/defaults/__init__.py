"""What pods get because nobody said it: labels, annotations, requests and limits; and scaled requests.

    sets        the configured defaults, and which of them a pod gets
    values      typed values (`${image.tag}`) of labels and annotations
    texts       which labels and annotations a pod gets
    acceptance  whether the API server would take a pod that it took before
    amounts     which requests and limits a pod gets
    defaulting  the whole decision about one pod
    tuning      requests by utilisation
    completing  both in their order, for whoever foresees a pod

Everything here is pure but for what the facts do (a live read of a namespace that the cache lacks).
"""
