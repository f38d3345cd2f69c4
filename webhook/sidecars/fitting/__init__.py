"""A plan and a namespace -> a plan that fits: forecasts, repairs, and what an entry wants done where none helps."""

from webhook.sidecars.fitting.fitting import Fitted, fit
from webhook.sidecars.fitting.forecast import Surroundings

__all__ = ["Fitted", "Surroundings", "fit"]
