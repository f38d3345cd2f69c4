"""One review in, one review out.

`review` bytes to request and answer to bytes · `draft` the recorded view that rules edit · `cluster` what rules may ask ·
`registry` the table of services · `interceptors` what stands before every service · `gate` a table bound to facts ·
`verify` jsonpatch as the second opinion.
"""
