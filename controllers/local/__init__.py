"""Files of a folder in the place of a cluster: `--local`, and the commands that need no cluster.

    cluster    a folder that is read, and read again when its files change
    files      what one file holds
    snapshot   all of them together, and the look-ups
    addresses  fixed addresses, as they would be handed out from these files

All implement the Protocols of `webhook.cluster`, so that rules cannot tell the difference.
"""
