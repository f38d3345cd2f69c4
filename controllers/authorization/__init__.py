"""Who may read what the process says of itself, when the cluster is to decide: TokenReview, then SubjectAccessReview.

    decision   what is asked of the API server and what its answers mean; pure
    kept       answers for a time, a bounded number of them; pure
    asking     one question at a time for each key, few at once, never longer than allowed
    authorizer the two reviews in a row
    gate       the WSGI application around the pages
    mounting   the gate of a process, with a client of its own

Nothing of it is on the path of an admission: another port, other threads, a client of its own.
"""
