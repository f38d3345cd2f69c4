"""Pod Security Standards: what a namespace's level forbids in a pod, and what would mend a container.

    levels      the profiles, their versions, and which one a namespace enforces
    view        a pod as the checks look at it
    baseline    the checks of the baseline profile
    restricted  the checks that the restricted profile adds
    standards   all of them: `violations`, `violations_of`
    repair      `repaired`

Pure; raises MalformedObject (400) on a field of a type that the API forbids.
"""

from webhook.objects.pod_security.levels import BASELINE, PRIVILEGED, RESTRICTED, Level, Profile, level_of
from webhook.objects.pod_security.repair import repaired
from webhook.objects.pod_security.standards import Violation, violations, violations_of

__all__ = [
    "BASELINE",
    "PRIVILEGED",
    "RESTRICTED",
    "Level",
    "Profile",
    "Violation",
    "level_of",
    "repaired",
    "violations",
    "violations_of",
]
