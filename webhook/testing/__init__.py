"""For authors of rules: builders that start valid, facts by hand, and the runner of golden cases. Public."""
