"""What `gatehouse check` says.

    files     faults and doubts in files of configuration and of sidecar entries, each with its place
    creators  doubts in the rules of who may create what
    remarks   one thing to say about a file, and its place there, also inside the texts that a ConfigMap holds

Pure: texts in, remarks out.
"""
