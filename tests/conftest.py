"""Property tests try the same inputs in every run, so that a red one is about the change at hand.

`make soak` tries new ones: --hypothesis-profile=new-inputs.
"""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("same-inputs", derandomize=True)
settings.register_profile("new-inputs", print_blob=True)
settings.load_profile("same-inputs")
