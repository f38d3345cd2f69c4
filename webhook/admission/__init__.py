"""One review in, one review out.

`review` bytes to request and answer to bytes · `draft` the recorded view that rules edit · `cluster` what rules may ask ·
`service` what a row of the table is · `registry` the table · `configurations` its registrations as the API server reads them ·
`call` what transport and gate say to each other · `interceptors` what comes before every service · `gate` the table bound to
facts · `settings` what an operator decides · `timeouts` the caller's · `verify` jsonpatch as the second opinion.
"""
