"""Acts: starts the process, keeps the facts that admission decides from, and writes to the cluster.

A controller is a folder with a pure `plan` and its doer: `edge_health`, `coverage`, `pod_ip`, `database_instance`,
`certificates`, `sidecars`. `runtime` is client-go in miniature, `testing` for those who write controllers, `process` what all
of them become; `cli`, `config`, `local`, `authorization`, `explaining`, `checking`, `plugins`, `status`, `collector` and
`compatibility` say what they are. Loose modules: `inputs` (what users name to be read), `version` (ours), `wording` (amounts
in words), `columns` (rows in columns). docs/architecture.md has the whole map.
May import `webhook`, never the other way round.
"""
