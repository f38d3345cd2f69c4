"""What takes minutes: the long forms of tests/server. Run by `make soak`, never by the others."""
