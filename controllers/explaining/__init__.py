"""What `gatehouse explain` and the page /explain say: what every rule would answer about an object, and why.

Asked as the API server would ask, through the services of the registry: nothing here decides anything.

    questions    which reviews there would be of an object of each kind, and by whom
    sending      whether a registration brings such a review to a service
    asking       puts a question to every bound service: QuestionAnswer, of ServiceAnswers, of RuleAnswers
    kinds        what may be asked about, and which objects are of such a kind
    objects      what is known of a node, an endpoint, a DatabaseInstance, any object, and the answers about it
    addresses    the same of a fixed address, as `gatehouse ip show` has it
    report       all that as a value to show
    pods         why a pod gets what it gets: the grounds of the decision about sidecars, and the bounds
    differences  what was done to a pod, in the words of a pod
    advice       what can be done about each answer; pod_advice: about what pods get
    rendering    answers as text and JSON
    explainer    all of it in one: a query -> its explanation; for files, a live cluster and a running replica
    wire         a query and its explanation as JSON
    calls        explanations inside rules of plug-ins: counted as reviews are, and known when they do not return
    page         POST /explain on the metrics port
    mounting     the page over what a process has
    late         the same, made when it is first asked for
"""
