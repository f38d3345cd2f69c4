"""Acts: starts the process, keeps the facts that admission decides from, and writes to the cluster.

`runtime` is client-go in miniature; `testing` is for those who write controllers; each other folder is one
controller (a pure `plan` and its doer). May import
`webhook`, never the other way round.
"""
