"""How much each service answers, how fast, and how much it refuses: over the last minutes, from the metrics that there are.

    window     counters at two moments -> rate, percentiles, refusals; pure
    sampler    the thread that remembers the counters of the last minutes

Requests are counted once, by admission's own metrics; nothing here is touched by a request.
"""
