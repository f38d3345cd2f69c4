"""Rules and controllers of others: found by their entry points, loaded when the configuration names them, run as ours are.

`finding` entry points · `using` what the configuration names, loaded and read · `running` informers and controllers in the
process · `news` what is said of them: log, metrics, status · `rights` the ClusterRoles that go with them.
What their authors import is `webhook.admission`, `webhook.testing`, `controllers.runtime` and `controllers.testing`
(docs/own-rule.md).
"""
