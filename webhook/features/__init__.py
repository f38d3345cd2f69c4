"""One rule per file. Pure: a rule gets the request, edits the draft, and says what it decided and why.

No rule imports another. Which service runs which rules, in which order, stands in `webhook.admission.registry`.
"""
