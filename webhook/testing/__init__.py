"""For authors of rules: facts by hand, and the runner of golden cases. Public."""
