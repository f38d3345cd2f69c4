"""Entries and a pod -> edits: `plan` decides everything, `apply` edits, `inject` does both."""

from webhook.sidecars.injection.applying import apply, inject
from webhook.sidecars.injection.planned import Injection, Part, Piece, Plan, Standing
from webhook.sidecars.injection.planning import plan
from webhook.sidecars.injection.scene import Scene, Support, native_support

__all__ = ["Injection", "Part", "Piece", "Plan", "Scene", "Standing", "Support", "apply", "inject", "native_support", "plan"]
