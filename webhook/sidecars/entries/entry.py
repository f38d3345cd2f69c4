"""What one key of a sidecar ConfigMap asks for, read and checked: the value that everything else works on.

Frozen, and shared by every request: nobody changes the dicts inside. Made by `source`, kept by `catalog`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import attrs

from webhook.objects.meta import Json


class NativeSidecar(StrEnum):
    """Whether `containers` become native sidecars: init containers with restartPolicy Always."""

    AUTO = "Auto"  # where every schedulable node's kubelet runs them, and wherever the pod is meant to end
    ALWAYS = "Always"
    NEVER = "Never"


class Conflict(StrEnum):
    """What happens when the pod has something of the same name, port, mount path or variable already."""

    KEEP = "Keep"  # the pod's own stays, a warning says so
    OVERRIDE = "Override"  # the entry's takes its place, a warning says so
    REFUSE = "Refuse"  # the pod is refused


class Repair(StrEnum):
    """What may be changed in the entry's own containers (or the pod's totals) so that the namespace accepts the pod."""

    POD_SECURITY = "PodSecurity"  # fill absent security settings for the namespace's level
    LIMIT_RANGE = "LimitRange"  # bring requests and limits of the entry's containers into the namespace's range
    POD_RESOURCES = "PodResources"  # raise spec.resources by what the entry's containers ask for


class Unfit(StrEnum):
    """What happens when the namespace would refuse the pod because of this entry."""

    WARN = "Warn"  # inject, and say what will happen
    SKIP = "Skip"  # leave this entry out, and say so
    REFUSE = "Refuse"  # refuse the pod here, naming the entry


class Spot(StrEnum):
    """A place in a list of containers."""

    FIRST = "First"
    LAST = "Last"
    BEFORE = "Before"
    AFTER = "After"


@attrs.frozen
class Placement:
    """Where containers go. *anchor*: the container that BEFORE and AFTER mean; when the pod has none of that name: LAST."""

    spot: Spot = Spot.LAST
    anchor: str = ""


@attrs.frozen
class AppWiring:
    """What the pod's own containers get."""

    containers: tuple[str, ...] = ()  # names; () = every one that the user wrote
    init_containers: bool = False  # also the pod's own init containers
    env: tuple[Json, ...] = ()
    env_from: tuple[Json, ...] = ()
    volume_mounts: tuple[Json, ...] = ()
    size: int = attrs.field(default=0, eq=False)  # as `Entry.size`

    @property
    def is_empty(self) -> bool:
        """Whether the pod's own containers stay as they are."""
        return not (self.env or self.env_from or self.volume_mounts)


@attrs.frozen
class LogCollector:
    """Follow files that the app writes: one line of the entry, expanded while injecting (it depends on the app's mounts)."""

    folder: str  # absolute, without a trailing "/": "/var/log/app"
    files: str  # a name or a shell pattern within the folder: "app.log", "*.log"
    container: Json  # the reader; lacks only its mount of the folder
    volume: Json  # the shared emptyDir, used where the app mounts nothing at the folder itself


@attrs.frozen
class Entry:
    """One named entry."""

    name: str  # what pods ask for: the key, or the ConfigMap's name for the key `config` of `envoy-initializer`
    namespace: str  # of its ConfigMap
    config_map: str
    key: str
    revision: str  # hex digits that change with the content
    containers: tuple[Json, ...] = ()
    init_containers: tuple[Json, ...] = ()
    volumes: tuple[Json, ...] = ()
    image_pull_secrets: tuple[Json, ...] = ()
    host_aliases: tuple[Json, ...] = ()
    labels: Mapping[str, str] = attrs.field(factory=dict)
    annotations: Mapping[str, str] = attrs.field(factory=dict)
    app: AppWiring = AppWiring()
    log_collector: LogCollector | None = None
    native_sidecar: NativeSidecar = NativeSidecar.AUTO
    place: Placement = Placement()  # of `containers` among the app containers, when they are not native
    init_place: Placement = Placement(Spot.FIRST)  # of native sidecars and init containers among the init containers
    on_conflict: Conflict = Conflict.KEEP
    if_refused: Unfit = Unfit.WARN
    repair: frozenset[Repair] = frozenset()
    overridable: bool = True  # whether pods may change the entry's containers for themselves
    allow_host_network: bool = False
    has_placeholders: bool = False  # whether any string holds a ${…} of ours; spares the search in those that have none
    # Characters of its text once aliases are followed, and some for each value: about the bytes that it takes.
    size: int = attrs.field(default=0, eq=False)

    @property
    def source(self) -> str:
        """Where it stands, for messages: "shop/envoy-initializer"."""
        return f"{self.namespace}/{self.config_map}"

    @property
    def subject(self) -> str:
        """What messages call it: entry "envoy" (shop/sidecars)."""
        return f'entry "{self.name}" ({self.source})'
