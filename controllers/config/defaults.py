"""The sections features.podDefaults and features.resourceTuning: what pods get that they lack, and how requests are scaled.

docs/pod-defaults.md is the reference. Pure; faults are found by `controllers.config.decoder`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar, Final

import attrs

from controllers.config.bounds import label_fault
from controllers.config.decoder import (
    Reader,
    Rule,
    flag,
    integer,
    section,
    sections,
    sections_by,
    selector,
    setting,
    takes,
    text,
)
from webhook.defaults.sets import ContainerDefaults, DefaultSet, PodDefaults, faults
from webhook.defaults.tuning import DEFAULT_STEPS, Scale, Step, Tuning
from webhook.objects import quantity
from webhook.objects.faults import Faults, Path, json_type
from webhook.objects.quantity import Quantity
from webhook.objects.resources import CPU, MEMORY
from webhook.objects.selectors import Selector

MOST_PERCENT: Final = 1000


def _by_key(one: Reader) -> Reader:
    """An object whose values are each read by *one*; a value that is null is none."""

    @takes(f"object of values by key, each a {one.shape}")  # type: ignore[attr-defined]
    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ValueError(f"must be an object, not {json_type(value)}")
        found: dict[str, Any] = {}
        wrong: list[tuple[Path, str]] = []
        for key, item in value.items():
            try:
                if item is not None:
                    found[key] = one(item)
            except ValueError as error:
                wrong.append(((key,), str(error)))
        if wrong:
            raise Faults(*wrong)
        return found

    return read


@takes("quantity")
def _amount(value: Any) -> Quantity:
    return quantity.read(value).in_whole_millis()


@attrs.frozen
class ContainerDefaultsSection:
    """Requests and limits of one kind of container, or of one container"""

    #: where a container has none of that resource
    requests: Mapping[str, Quantity] = setting({}, _by_key(_amount))
    #: where a container has none of that resource
    limits: Mapping[str, Quantity] = setting({}, _by_key(_amount))

    def value(self) -> ContainerDefaults:
        """The same for `webhook`."""
        return ContainerDefaults(self.requests, self.limits)


@attrs.frozen
class ResourcesSection:
    """Requests and limits by kind of container"""

    app: ContainerDefaultsSection = section(ContainerDefaultsSection)
    init: ContainerDefaultsSection = section(ContainerDefaultsSection)


@attrs.frozen
class DefaultSetSection:
    """One set of defaults"""

    #: messages name the set by it
    name: str = setting("", text(at_least=1, check=label_fault))
    #: absent: every namespace
    namespace_selector: Selector = setting(Selector(), selector())
    #: absent: every pod
    pod_selector: Selector = setting(Selector(), selector())
    #: added where they are missing; placeholders are filled in
    labels: Mapping[str, str] = setting({}, _by_key(text()))
    #: added where they are missing; placeholders are filled in
    annotations: Mapping[str, str] = setting({}, _by_key(text()))
    resources: ResourcesSection = section(ResourcesSection)
    #: for one container by its name; goes before `resources`
    containers: Mapping[str, ContainerDefaultsSection] = setting({}, sections_by(ContainerDefaultsSection, label_fault))

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(("name",), lambda it, given: not it.name, "must be set: messages name the set by it"),
    )

    def value(self) -> DefaultSet:
        """The same for `webhook`."""
        return DefaultSet(
            self.name,
            self.namespace_selector,
            self.pod_selector,
            self.labels,
            self.annotations,
            self.resources.app.value(),
            self.resources.init.value(),
            {name: one.value() for name, one in self.containers.items()},
        )


@takes("list of objects", items=DefaultSetSection)
def _sets(value: Any) -> tuple[DefaultSetSection, ...]:
    found: tuple[DefaultSetSection, ...] = _SETS(value)
    wrong = tuple(faults([one.value() for one in found]))
    if wrong:
        raise Faults(*wrong)
    return found


_SETS: Final = sections(DefaultSetSection, name="name")


@attrs.frozen
class PodDefaultsSection:
    """features.podDefaults: what pods get that they lack"""

    #: off: nothing is filled in
    enabled: bool = setting(True, flag())
    #: all whose selectors choose a pod apply, in their order
    sets: tuple[DefaultSetSection, ...] = setting((), _sets)

    def value(self) -> PodDefaults:
        """The same for `webhook`."""
        return PodDefaults(tuple(one.value() for one in self.sets), self.enabled)


# -- tuning --------------------------------------------------------------------------------------------------------


@attrs.frozen
class StepSection:
    """From which utilisation on which factor applies"""

    #: of the schedulable capacity that is requested
    at_percent: int = setting(0, integer(at_least=0, at_most=MOST_PERCENT))
    #: what becomes of a request from there on
    factor_percent: int = setting(100, integer(at_least=1, at_most=MOST_PERCENT))


@takes("quantity")
def _bound(value: Any) -> Quantity:
    found = _amount(value)
    if found.nanos < 0:
        raise ValueError(f"must not be negative, as {found.text} is")
    return found


def _are_not_rising(it: Any, given: frozenset[str]) -> bool:
    at = [step.at_percent for step in it.steps]
    return any(one >= other for one, other in pairwise(at))


@attrs.frozen
class CpuScaleSection:
    """How requests of one resource are scaled"""

    #: whether this resource is scaled
    enabled: bool = setting(True, flag())
    #: no request is lowered below it
    min: Quantity = setting(quantity.parse("10m"), _bound)
    #: no request is raised above it; null: no such bound
    max: Quantity | None = setting(None, _bound)
    #: by rising utilisation
    steps: tuple[StepSection, ...] = setting(
        tuple(StepSection(step.at_percent, step.factor_percent) for step in DEFAULT_STEPS), sections(StepSection)
    )

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(("min", "max"), lambda it, given: it.max is not None and it.min > it.max, "must not be above max"),
        Rule(("steps",), _are_not_rising, "must stand in the order of atPercent, each higher than the one before"),
    )

    def value(self) -> Scale:
        """The same for `webhook`."""
        return Scale(tuple(Step(one.at_percent, one.factor_percent) for one in self.steps), self.min, self.max)


@attrs.frozen
class MemoryScaleSection(CpuScaleSection):
    """The same of memory, which is left alone unless told otherwise: what is short of memory is killed"""

    #: off: what is short of memory is killed, not slowed down
    enabled: bool = setting(False, flag())
    #: no request is lowered below it
    min: Quantity = setting(quantity.parse("32Mi"), _bound)


@attrs.frozen
class ResourceTuningSection:
    """features.resourceTuning: requests scaled to how full the cluster is"""

    #: off: nothing is scaled, and nothing is counted for it
    enabled: bool = setting(False, flag())
    #: absent: every namespace
    namespace_selector: Selector = setting(Selector(), selector())
    #: absent: every pod
    pod_selector: Selector = setting(Selector(), selector())
    cpu: CpuScaleSection = section(CpuScaleSection)
    memory: MemoryScaleSection = section(MemoryScaleSection)

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            ("enabled", "cpu", "memory"),
            lambda it, given: it.enabled and not (it.cpu.enabled or it.memory.enabled),
            "scales nothing: both cpu and memory are off",
        ),
    )

    def value(self) -> Tuning:
        """The same for `webhook`."""
        scales = {name: one.value() for name, one in ((CPU, self.cpu), (MEMORY, self.memory)) if one.enabled}
        return Tuning(scales, self.namespace_selector, self.pod_selector, self.enabled)
