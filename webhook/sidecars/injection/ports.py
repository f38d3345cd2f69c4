"""Ports of coming containers that others of the pod have already. Pure.

All containers of a pod share one network, where a second listener on a port fails. Whether there is one, only the containers
know: this is said and no more. A host port can be had once (AccumulateUniqueHostPorts in kubernetes pkg/apis/core/validation):
that is decided.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import msgspec

from webhook.errors import MalformedObject
from webhook.names import Reason
from webhook.objects import meta, pods
from webhook.objects.faults import Path, dotted
from webhook.objects.meta import Json
from webhook.objects.pods import Container, Kind
from webhook.sidecars.entries.entry import Conflict, Entry
from webhook.sidecars.injection import stubs
from webhook.sidecars.injection.planned import Part, Piece
from webhook.sidecars.injection.verdicts import Verdicts

_NodeKey = tuple[int, str, str]  # number, protocol, address


class _Holder(msgspec.Struct, frozen=True):
    """Who has a port."""

    container: str
    path: Path | None  # of the port in the pod; None when it belongs to a container that is only coming


class Ports:
    """The ports of one pod while containers join it. Used by one call of `plan`, in one thread."""

    def __init__(self, pod: Json, there: Mapping[str, Container], coming: Collection[str], verdicts: Verdicts) -> None:
        """there: the containers of the pod, by name; *coming*: the names of those that entries bring, or take the place of."""
        self.removals: list[Path] = []  # what the pod's own lose to entries that override
        self._on_host = pods.uses_host_network(pod)  # there every port is a host port
        self._verdicts = verdicts
        self._listening: dict[tuple[int, str], _Holder] = {}
        self._on_node: dict[_NodeKey, _Holder] = {}
        self._stubs = {name: there[name] for name in coming if name in there and stubs.is_stub(there[name])}
        for name, container in there.items():
            if name in coming:
                continue
            if container.json.get("ports") is None:
                continue
            if container.kind is not Kind.APP and not container.is_native_sidecar:
                continue  # has ended, or has not begun, when the others run
            at = container.path
            for index, port in enumerate(meta.objects(container.json, "ports", at)):
                path: Path = ("spec", str(container.kind), container.index, "ports", index)
                self._take(port, _Holder(name, path), f"{at}.ports[{index}]")

    def admit(self, part: Part) -> Part:
        """*part* with the ports that its containers can have."""
        pieces = tuple([self._admitted(part.entry, piece) if _is_listening(piece) else piece for piece in part.pieces])
        return Part(part.entry, pieces, part.volumes)

    # -- inside

    def _admitted(self, entry: Entry, piece: Piece) -> Piece:
        ports = list(self._ports(entry, piece))
        return piece if ports == piece.json["ports"] else msgspec.structs.replace(piece, json={**piece.json, "ports": ports})

    def _ports(self, entry: Entry, piece: Piece) -> Iterator[Json]:
        stub = self._stubs.get(piece.name)
        said = meta.objects(stub.json, "ports", stub.path) if stub is not None else ()
        for port in meta.objects(piece.json, "ports", f'container "{piece.name}"'):
            where = f'container "{piece.name}".ports'
            node = self._node_key(port, where)
            holder = self._on_node.get(node) if node is not None else None
            if port in said:
                pass  # the user's own, who may have meant it
            elif node is not None and holder is not None and holder.container != piece.name:
                kept = self._settled(entry, piece, port, holder, node)
                if kept is None:
                    continue
                port = kept
            else:
                self._tell_of_listener(entry, piece, port, where)
            self._take(port, _Holder(piece.name, None), where)
            yield port

    def _settled(self, entry: Entry, piece: Piece, port: Json, holder: _Holder, node: _NodeKey) -> Json | None:
        """The port as its container can have it; None when it cannot have it at all."""
        thing = f'host port {node[0]}/{node[1]} of container "{holder.container}", which container "{piece.name}" wants too,'
        field = dotted(holder.path) if holder.path is not None else ""
        kept = f'stays as it is: container "{piece.name}" comes without {"the port" if self._on_host else "its hostPort"}'
        if self._verdicts.clash(entry, Reason.PORT_CONFLICT, thing, field, replaceable=holder.path is not None, kept=kept):
            assert holder.path is not None
            self.removals.append(holder.path if self._on_host else (*holder.path, "hostPort"))
            del self._on_node[node]
            return port
        return None if self._on_host else {key: value for key, value in port.items() if key not in ("hostPort", "hostIP")}

    def _tell_of_listener(self, entry: Entry, piece: Piece, port: Json, where: str) -> None:
        key = _pod_key(port, where)
        holder = self._listening.get(key)
        if holder is None or holder.container == piece.name:
            return
        message = (
            f'port {key[0]}/{key[1]} of container "{piece.name}" (entry "{entry.name}", {entry.source}) is that of container '
            f'"{holder.container}" too: in one pod only one of them can listen there'
        )
        field = dotted(holder.path) if holder.path is not None else ""
        say = self._verdicts.refuse if entry.on_conflict is Conflict.REFUSE else self._verdicts.tell
        say(Reason.PORT_CONFLICT, message, field)

    def _take(self, port: Json, holder: _Holder, where: str) -> None:
        self._listening.setdefault(_pod_key(port, where), holder)
        node = self._node_key(port, where)
        if node is not None:
            self._on_node.setdefault(node, holder)

    def _node_key(self, port: Json, where: str) -> _NodeKey | None:
        number = _number(port, "hostPort", where) or (_number(port, "containerPort", where) if self._on_host else 0)
        return (number, _protocol(port, where), meta.text(port, "hostIP", where)) if number else None


def _is_listening(piece: Piece) -> bool:
    runs_along = piece.kind is Kind.APP or piece.json.get("restartPolicy") == "Always"
    return piece.is_coming and runs_along and bool(piece.json.get("ports"))


def _pod_key(port: Json, where: str) -> tuple[int, str]:
    return _number(port, "containerPort", where), _protocol(port, where)


def _protocol(port: Json, where: str) -> str:
    return meta.text(port, "protocol", where) or "TCP"


def _number(port: Json, key: str, where: str) -> int:
    value = port.get(key)
    if value is not None and type(value) is not int:
        raise MalformedObject(f"{where}.{key}: expected a number, found {type(value).__name__}")
    return value or 0
