"""The process: what it is made of, and the order in which that starts and stops.

    assembly      a configuration becomes the parts of one process
    supervisor    starts and stops them in order, and ends the process when one of them dies
    signals       what SIGTERM, SIGINT and SIGHUP do
    facts         where facts come from: watch caches, or files
    leading       the led side: election, Events, and the controllers that the leader runs
    led           which controllers those are, and what each needs
    explain_page  the page /explain, over what the process has
    sections      what /statusz is read from
    probes        /healthz, /readyz, /metrics, /statusz, /explain as WSGI applications

Nothing imports it but `cli.serve` and what draws the documentation.
"""
