"""What takes minutes: the long forms of other tests. Run by `make soak`, never by the others."""
