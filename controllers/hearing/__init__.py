"""What every rule would answer about an object: asked as the API server would ask, through the services of the registry.

    questions   which reviews there would be of an object of each kind, and by whom
    sending     whether a registration brings such a review to a service
    asking      puts a question to every bound service, and keeps what each rule said
    reports     an object, its facts and the answers, as a value to show
    fitting     which objects are of a kind
    kinds       what is known of a node, an endpoint, a DatabaseInstance beside the answers
    addresses   a fixed address, as `gatehouse ip show` has it
    advice      what can be done about each answer
    telling     answers as text and JSON
    explainer   all of it in one: a query -> what is told; for files, a live cluster and a running replica
    wire        a query and its answer as JSON
    page        POST /explain on the metrics port
    mounting    the page over what a process has
    late        the same, made when it is first asked for

Nothing here decides anything: the services do, by the very function that answers the API server.
"""
