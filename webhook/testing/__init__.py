"""For authors of rules. What is in `__all__` is public: the runner of golden cases (docs/own-rule.md).

`golden` the runner · `given` what a case starts from · `facts` a cluster of facts by hand.
"""

from webhook.testing.golden import golden_cases, run_golden_case

__all__ = ["golden_cases", "run_golden_case"]
