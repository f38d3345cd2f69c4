"""Fixed pod addresses: what a pod asks for, which address it gets, and what is written on it. Pure; any thread.

address, ranges    addresses and sets of them
policy             what an installation decides
grammar, wish      what labels, annotations and pools say
marks, keys        what is written on a pod, and the key that ties it to its reservation
facts              reservations and pools, as caches keep them
owners, bearer     who made a pod, and whether what it bears is its own
words              whose an address is, as messages say it
choosing           which free address comes first
allocating         the steps of one allocation, as effects that a doer carries out
exhaustion         what is said when nothing is free
forecast           what will become of a workload's pods
"""
