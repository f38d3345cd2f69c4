"""The edge-health controller: mends what admission could not, because nobody sends that write again.

plan        node and pods -> steps, and when to look again (pure)
mending     a step and the object as it is known -> the guarded patch that takes it (pure)
guards      which nodes are guarded: since when, for the metric, the log and the Events
stragglers  which pods could not be written, and come last
writes      what is asked of the API server, and what to do when another was quicker
reconciler  one pass over one node: caches -> plan -> writes
controller  caches -> keys -> passes
"""
