"""Two replicas with one certificate in a Secret, a balancer before them, and those who would notice a fault: users who create
pods under failurePolicy Fail, and callers who trust exactly what the configurations say.
"""

from __future__ import annotations

import copy
import ssl
import threading
import time
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import attrs

from tests.apiserver import injection
from tests.apiserver.gatehouse import Gatehouse
from tests.apiserver.registration import NAMESPACE, Registration
from tests.apiserver.waiting import wait_for
from tests.cluster import Api, Cluster, Json
from tests.cluster.kinds import apply
from tests.server.balancer import Balancer
from webhook.serving.selfsigned import Issued, issue, make_authority

SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/gatehouse-tls"
GROUP = "/apis/admissionregistration.k8s.io/v1"
CONFIGURATIONS = [f"{GROUP}/{kind}webhookconfigurations/gatehouse" for kind in ("mutating", "validating")]
SERVICE = f"gatehouse.{NAMESPACE}.svc"
DAY_S = 86400.0
SHOP = "shared-certificate"
LEADER: Json = {"enabled": True, "leaseDuration": "3s", "renewDeadline": "2s", "retryPeriod": "1s"}
JSON_PATCH = "application/json-patch+json"
USERS = 20
PAUSE_S = USERS / 50  # 50 creates a second
CALL_EVERY_S = 0.1


class Sharing(Gatehouse):
    """A replica whose certificate is in the Secret. *lifetimes* are settings of webhook.certificate."""

    def __init__(self, cluster: Cluster, folder: Path, lifetimes: Json) -> None:
        certificate = {"source": "self", "secretName": "gatehouse-tls", "hosts": ["127.0.0.1"], **lifetimes}
        webhook = {"shutdownDelay": "0s", "certificate": certificate}
        super().__init__(cluster, folder, config={"leaderElection": LEADER, "webhook": webhook})

    def certificate_flags(self) -> list[str]:
        return []

    def bundle(self) -> bytes:
        """What callers were to trust when it started."""
        return b64decode(self.addresses["caBundle"])

    def shown(self, trust: bytes | None = None) -> bytes:
        """The certificate that a new connection is shown, DER. With *trust* (PEM): verified as the API server would.

        Raises OSError.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if trust is None:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        else:
            context.load_verify_locations(cadata=trust.decode())
        host, _, port = self.addresses["webhook"].rpartition(":")
        with (
            self._cluster.namespace.connect(host, int(port), 5.0) as raw,
            context.wrap_socket(raw, server_hostname=host) as secure,
        ):
            return secure.getpeercert(binary_form=True) or b""


@attrs.frozen
class Fault:
    """Something that a user or a caller noticed, and from when to when it was under way (monotonic)."""

    began_s: float
    at_s: float
    what: str


class Users:
    """50 dry-run creates a second, each of which has to be answered with a complete pod. Who fails tries until he succeeds.

    A dry run takes the same way through admission and leaves nothing to clean up.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._run, name=f"test/user-{number}") for number in range(USERS)]
        self.faults: list[Fault] = []  # lists are appended to by the threads, which is atomic
        self.incomplete: list[str] = []
        self.created: list[float] = []
        self.tried_again: list[float] = []  # seconds from a fault to its success

    def __enter__(self) -> Users:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(30.0)

    def _run(self) -> None:
        with self._cluster.api() as api:
            failed_s: float | None = None
            due_s = time.monotonic() + PAUSE_S
            while not self._over.wait(max(0.0, due_s - time.monotonic())):
                due_s = max(due_s + PAUSE_S, time.monotonic())  # what could not be kept up with is not made up for
                start_s = time.monotonic()
                try:
                    pod, _ = injection.create(api, SHOP, injection.pod(), "?dryRun=All")
                except Exception as fault:
                    self.faults.append(Fault(start_s, time.monotonic(), repr(fault)))
                    failed_s = start_s if failed_s is None else failed_s
                    continue
                self.created.append(time.monotonic())
                if injection.containers(pod)[1:] != ["envoy"]:
                    self.incomplete.append(repr(pod))
                if failed_s is not None:
                    self.tried_again.append(time.monotonic() - failed_s)
                    failed_s = None


class Callers:
    """New connections to each replica all the time, by who trusts what each configuration says at that moment.

    Who needs longer than *grace_s* from reading it to the handshake may find that the CA has been replaced meanwhile.
    """

    def __init__(self, cluster: Cluster, replicas: Sequence[Sharing], grace_s: float) -> None:
        self._cluster = cluster
        self._grace_s = grace_s
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(one,), name="test/caller") for one in replicas]
        self.faults: list[Fault] = []
        self.calls: list[float] = []

    def __enter__(self) -> Callers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(30.0)

    def _run(self, replica: Sharing) -> None:
        with self._cluster.api() as api:
            while not self._over.wait(CALL_EVERY_S):
                start_s = time.monotonic()
                trust = b"".join(bundles(api)[:1])
                try:
                    replica.shown(trust)
                except (OSError, ValueError) as fault:
                    end_s = time.monotonic()
                    if end_s - start_s < self._grace_s or not isinstance(fault, ssl.SSLCertVerificationError):
                        self.faults.append(Fault(start_s, end_s, repr(fault)))
                self.calls.append(time.monotonic())


def bundles(api: Api) -> list[bytes]:
    """The caBundle of every webhook."""
    found = [hook for path in CONFIGURATIONS for hook in api.get(path).get("webhooks", [])]
    return [b64decode(hook["clientConfig"].get("caBundle") or "") for hook in found]


def secret(api: Api) -> dict[str, bytes]:
    """The bytes of the Secret; empty when there is none."""
    found = api.find(SECRET)
    return {} if found is None else {key: b64decode(value) for key, value in found["data"].items()}


def age_leaf(api: Api) -> bytes:
    """Put a certificate into the Secret that is trusted like the present one, with 20 of its 90 days left; the certificate."""
    authority, names = Issued(secret(api)["ca.crt"], secret(api)["ca.key"]), ["127.0.0.1", SERVICE]
    aged = issue(authority, names, now_s=time.time() - 70 * DAY_S, lifetime_s=90 * DAY_S)
    _write(api, {"tls.crt": aged.certificate, "tls.key": aged.key})
    return aged.certificate


def age_authority(api: Api) -> bytes:
    """Put a CA into the Secret, before the present ones, that has 65 of its 365 days left: the CA."""
    aged = make_authority(now_s=time.time() - 300 * DAY_S, lifetime_s=365 * DAY_S, name="an aged CA")
    _write(api, {"ca.crt": aged.certificate + secret(api)["ca.crt"], "ca.key": aged.key})
    return aged.certificate


def _write(api: Api, values: dict[str, bytes]) -> None:
    api.patch(SECRET, {"data": {key: b64encode(value).decode() for key, value in values.items()}})


def der(secret: dict[str, bytes]) -> bytes:
    """The Secret's certificate as a connection shows it."""
    return ssl.PEM_cert_to_DER_cert(secret["tls.crt"].decode())


def empty_bundles(api: Api) -> None:
    """What somebody does who applies manifests that say nothing of caBundle, in the strictest way."""
    for path in CONFIGURATIONS:
        places = range(len(api.get(path)["webhooks"]))
        emptied = [{"op": "add", "path": f"/webhooks/{place}/clientConfig/caBundle", "value": ""} for place in places]
        api.patch(path, emptied, JSON_PATCH)


@attrs.frozen
class Stage:
    """What runs inside the block."""

    admin: Api
    replicas: Sequence[Sharing]
    users: Users
    callers: Callers

    def bundle_writes(self) -> float:
        """How many times a caBundle has been written."""
        return sum(replica.total("gatehouse_ca_bundle_writes_total") for replica in self.replicas)

    def everybody_serves(self, secret: dict[str, bytes]) -> bool:
        """Whether each replica shows the Secret's certificate to new connections."""
        return bool(secret) and {replica.shown() for replica in self.replicas} == {der(secret)}


@contextmanager
def two_replicas(cluster: Cluster, folder: Path, lifetimes: Json) -> Iterator[Stage]:
    """Started together, registered without a caBundle, called all the time; nothing is left of them."""
    with ExitStack() as stack:
        admin = stack.enter_context(cluster.api())
        stack.callback(lambda: admin.find(SECRET) and admin.delete(SECRET))
        injection.namespace(admin, SHOP, injection.EVERY_POD)
        for name, data in (("envoy-initializer", {"config": injection.ENVOY}), ("envoy", {"envoy.json": "{}"})):
            apply(admin, injection.config_map(SHOP, name, data))
        replicas = [Sharing(cluster, _made(folder / f"sharing-{number}"), lifetimes) for number in range(2)]
        with ThreadPoolExecutor(2) as starting:
            list(starting.map(stack.enter_context, replicas))
        addresses = [replica.addresses["webhook"].rpartition(":") for replica in replicas]
        backends = [lambda host=host, port=port: cluster.namespace.connect(host, int(port), 5.0) for host, _, port in addresses]
        balancer = stack.enter_context(Balancer(backends, listener=cluster.namespace.listen()))
        printed = Registration.printed(f"https://127.0.0.1:{balancer.port}", replicas[0].ca_file, replicas[0]._config_file)
        stack.enter_context(_without_bundles(printed).applied(admin))
        _until_trusted(admin, replicas)
        grace_s = float(lifetimes["rotationGrace"].removesuffix("s"))
        callers = stack.enter_context(Callers(cluster, replicas, grace_s))
        users = stack.enter_context(Users(cluster))
        yield Stage(admin, replicas, users, callers)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _without_bundles(printed: Registration) -> Registration:
    items = copy.deepcopy(list(printed.configurations))
    for item in items:
        for hook in item["webhooks"]:
            hook["clientConfig"].pop("caBundle")
    return Registration(items)


def _until_trusted(admin: Api, replicas: Sequence[Sharing]) -> None:
    """Every webhook trusts the replicas, and the API server injects because of it."""
    wait_for(lambda: set(bundles(admin)) == {secret(admin)["ca.crt"]}, 20.0, "a caBundle in every webhook")

    def injects() -> bool:
        try:
            pod, _ = injection.create(admin, SHOP, injection.pod(), "?dryRun=All")
        except Exception:
            return False  # the API server has not seen the caBundle yet
        return injection.containers(pod)[1:] == ["envoy"]

    wait_for(injects, 20.0, "an injected pod")
