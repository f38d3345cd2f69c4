"""A running replica for `gatehouse explain --from-replica`: asked on its metrics port, by POST /explain.

It decides with its own configuration, caches and memory. Nodes and addresses it knows by name; other objects are shown to it,
from a file or read live by name. What is sent leaves out managedFields and a node's images, which no rule reads.
Errors: Failed, UsageError. One thread.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Sequence
from typing import Any

import attrs

from controllers.cli.explain_targets import Wanted, in_file
from controllers.cli.pages import NOT_OURS, OTHER_PORT, is_html
from controllers.cli.pages import Source as Pages
from controllers.cli.status import FORWARD
from controllers.cli.usage import Failed, UsageError
from controllers.explaining.explainer import Explanation, Query, Tone, Unknown
from controllers.explaining.kinds import BY_NAME
from controllers.explaining.wire import PATH, as_body
from webhook.admission.review import User


@attrs.frozen
class ReplicaSource:
    """What one replica believes."""

    pages: Pages
    kubeconfig: str
    wanted: Wanted

    def notes(self) -> Sequence[str]:
        return ()

    def queries(self, target: str, user: User) -> Sequence[Query]:
        wanted = self.wanted
        if wanted.kind in BY_NAME and wanted.is_name(target):
            name = target if wanted.kind == "address" else wanted.key(target)[1]
            return [Query(wanted.kind, name, user=user)]
        if not wanted.is_name(target):
            return in_file(target, wanted, user)
        return self._read(target, user)

    def explain(self, query: Query) -> Explanation:
        url = self.pages.url(PATH)
        try:
            status, phrase, body = self.pages.ask("POST", PATH, as_body(query))
        except (OSError, ValueError) as error:
            hint = f"; {FORWARD}" if isinstance(error, OSError) else ""
            raise Failed(f"{url}: {error or type(error).__name__}{hint}") from error
        if status == http.client.OK:
            return _answer(url, body)
        if is_html(body):
            raise Failed(f"{url}: {status} {phrase}: {NOT_OURS}; {FORWARD}")
        said = _message(body)
        if status == http.client.NOT_FOUND and said:
            raise Unknown(said)
        hint = f"; {OTHER_PORT}, or that process is older than this command" if status == http.client.NOT_FOUND else ""
        raise Failed(f"{url}: {status} {phrase}{f': {said}' if said else ''}{hint}")

    def _read(self, target: str, user: User) -> Sequence[Query]:
        """The object of that name, read live to be shown to the replica."""
        from controllers.cli.explain_live import LiveSource  # only here: a file needs no API server
        from controllers.config.document import parse
        from controllers.runtime.errors import ClientConfigError
        from controllers.runtime.rest import RestClient
        from webhook.clock import SystemClock
        from webhook.telemetry import Telemetry

        clock = SystemClock()
        try:
            client = RestClient.auto(self.kubeconfig, Telemetry(), clock)
        except ClientConfigError as error:
            namespace, name = self.wanted.key(target)
            where = f" -n {namespace}" if namespace else ""
            hint = (
                f"kubectl get {self.wanted.word} {name}{where} -o yaml | gatehouse explain {self.wanted.word} - --from-replica"
            )
            raise UsageError(
                f"{target}: the object is needed, and there is no cluster to read it from: {error}\n{hint}"
            ) from error
        try:
            return LiveSource(client, parse(b"", ""), clock, self.wanted).queries(target, user)
        finally:
            client.close()


def _answer(url: str, body: bytes) -> Explanation:
    try:
        found = json.loads(body)
        return Explanation(found["text"], found["explanation"], found["fine"], Tone(found["tone"]))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Failed(f"{url}: {NOT_OURS}: its answer is no explanation; {FORWARD}") from error


def _message(body: bytes) -> str:
    """What the replica says of a question that it does not answer; "" when that is no word of ours."""
    try:
        found: Any = json.loads(body)
    except ValueError:
        return ""
    return str(found["error"]) if isinstance(found, dict) and "error" in found else ""
