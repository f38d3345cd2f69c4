"""The edge-health controller: mends what admission could not, because nobody sends that write again.

plan        node and pods -> steps, and when to look again (pure)
mending     a step and the live object -> the guarded patch that takes it (pure)
guards      which nodes are guarded: since when, for the metric, the log and the Events
stragglers  which pods could not be written, and come last
controller  caches -> plan -> writes
"""
