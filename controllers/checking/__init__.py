"""What `gatehouse check` says.

    files     faults and doubts in files of configuration and of sidecar entries, each with its place
    creators  doubts in the rules of who may create what

Pure: texts in, remarks out.
"""
