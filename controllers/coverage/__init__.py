"""The coverage controller: pods that should carry a sidecar and do not are found, counted and told on their owner.

plan        a pod, or all pods of an owner -> what is missing, and when to tell it (pure)
evictions   all pods of an owner -> which bare one may go now, if any (pure)
memory      what is remembered of each owner
owners      which pods belong to whom, and who stands above
tally       the counts: metrics and status page
reports     what an owner has heard, and hears
evictor     the evictions that were chosen, within limits
news        a log line and an Event each
reconciler  caches -> plan -> reports, evictions
controller  what makes an owner come up, and the wiring
"""
