"""What is done to the installation while pods are created, each with the moments at which calls may fail for it.

A window begins with the deed and ends two seconds after the installation has recovered: within these the API server's own
caches catch up. Windows are of `time.monotonic`.
"""

from __future__ import annotations

import time
from base64 import b64encode

from cryptography import x509

from tests.apiserver.shared_certificate import DAY_S, SECRET, SERVICE, bundles, empty_bundles, secret
from tests.apiserver.waiting import wait_for
from tests.cluster import Api, Json
from tests.e2e.installed import READY_AGAIN_S, Installed, Replica
from webhook.serving.selfsigned import Issued, issue, make_authority

AFTER_S = 2.0
ROLLOUT_S = 120.0
CHANGE_S = 60.0  # of a certificate
Window = tuple[float, float]
# More memory than the limit, in the control group of a process: the kernel ends the one that is the readiest to go.
_HOG = """
group=$(awk -F: '$2 == "memory" {{print "/sys/fs/cgroup/memory" $3}}' /proc/{pid}/cgroup)
[ -n "$group" ] || group=/sys/fs/cgroup$(awk -F: '$1 == "0" {{print $3}}' /proc/{pid}/cgroup)
sh -c 'echo $$ > '"$group"'/cgroup.procs && head -c 400000000 /dev/zero | tail' > /dev/null 2>&1 || true
"""


def roll(gatehouse: Installed) -> None:
    """`kubectl rollout restart`, to its end."""
    before = {replica.name for replica in gatehouse.replicas()}
    gatehouse.kubectl("-n", "kube-system", "rollout", "restart", "deployment", "gatehouse")
    gatehouse.kubectl("-n", "kube-system", "rollout", "status", "deployment", "gatehouse", f"--timeout={ROLLOUT_S:.0f}s")
    wait_for(lambda: not before & {one.name for one in gatehouse.replicas()}, ROLLOUT_S, "only new replicas")
    gatehouse.wait_all_ready()


def upgrade(gatehouse: Installed) -> None:
    """Deploy again, with another configuration: the replicas are replaced, and everything is applied anew."""
    before = {replica.name for replica in gatehouse.replicas()}
    gatehouse.reconfigure("logging: {format: json}", "logging: {format: json, verbose: true}")
    gatehouse.deploy()
    wait_for(lambda: not before & {one.name for one in gatehouse.replicas()}, ROLLOUT_S, "only new replicas")
    gatehouse.wait_all_ready()


def delete_leader(gatehouse: Installed) -> float:
    """Delete the pod that leads; seconds until another one does."""
    wait_for(lambda: gatehouse.leader() in {one.name for one in gatehouse.replicas()}, CHANGE_S, "a leader that is there")
    leader, start_s = gatehouse.leader(), time.monotonic()
    gatehouse.kubectl("-n", "kube-system", "delete", "pod", leader, "--wait=false")
    wait_for(lambda: gatehouse.leader() not in ("", leader), CHANGE_S, "another leader")
    took_s = time.monotonic() - start_s
    gatehouse.wait_all_ready()
    return took_s


def rotate_leaf(gatehouse: Installed) -> None:
    """The certificate is given 20 of its 90 days; until another one is in use."""
    authority = Issued(secret(gatehouse.api)["ca.crt"], secret(gatehouse.api)["ca.key"])
    aged = issue(authority, [SERVICE], now_s=time.time() - 70 * DAY_S, lifetime_s=90 * DAY_S)
    _write(gatehouse.api, {"tls.crt": aged.certificate, "tls.key": aged.key})
    wait_for(lambda: secret(gatehouse.api).get("tls.crt") != aged.certificate, CHANGE_S, "a renewed certificate")


def rotate_authority(gatehouse: Installed) -> None:
    """The CA is given 65 of its 365 days; until another one signs, and every caBundle has it."""
    aged = make_authority(now_s=time.time() - 300 * DAY_S, lifetime_s=365 * DAY_S, name="an aged CA")
    before = secret(gatehouse.api)
    _write(gatehouse.api, {"ca.crt": aged.certificate + before["ca.crt"], "ca.key": aged.key})
    _wait_other_certificate(gatehouse.api, before["tls.crt"], aged.certificate)


def delete_secret(gatehouse: Installed) -> None:
    """Delete the Secret; until another CA signs what is served."""
    before = secret(gatehouse.api)
    gatehouse.api.delete(SECRET)
    _wait_other_certificate(gatehouse.api, before["tls.crt"], before["ca.crt"])


def kill(gatehouse: Installed, replica: Replica) -> Window:
    """SIGKILL for the program; until nobody is sent to it any more, or it is ready again."""
    program, start_s = gatehouse.program(replica), time.monotonic()
    gatehouse.ground.on_node(replica.node, f"kill -9 {program.pid}")
    return start_s, _recovered_s(gatehouse, replica) + AFTER_S


def exhaust_memory(gatehouse: Installed, replica: Replica) -> Window:
    """Its control group uses more than the limit; until it has been ended by the kernel and is ready again."""
    program, start_s = gatehouse.program(replica), time.monotonic()
    gatehouse.ground.on_node(replica.node, _HOG.format(pid=program.pid))
    return start_s, _recovered_s(gatehouse, replica) + AFTER_S


def empty_ca_bundles(gatehouse: Installed) -> Window:
    """Empty every caBundle by hand; until each is back."""
    start_s = time.monotonic()
    empty_bundles(gatehouse.api)
    wait_for(lambda: all(bundles(gatehouse.api)), CHANGE_S, "caBundles that are back")
    return start_s, time.monotonic() + AFTER_S


def restart_api_server(gatehouse: Installed) -> Window:
    """Until it is ready again."""
    start_s = time.monotonic()
    gatehouse.ground.restart_api_server()
    return start_s, time.monotonic() + AFTER_S


def last_end(api: Api, replica: Replica) -> Json:
    """How the replica's container ended the last time."""
    found = api.get(f"/api/v1/namespaces/kube-system/pods/{replica.name}")
    ended: Json = found["status"]["containerStatuses"][0]["lastState"].get("terminated", {})
    return ended


def _recovered_s(gatehouse: Installed, replica: Replica) -> float:
    """Once the replica is ready again: when that was, or the earlier moment at which nobody was sent to it any more."""
    away_s: list[float] = []

    def back() -> bool:
        found = [one for one in gatehouse.replicas() if one.uid == replica.uid]
        if replica.address not in gatehouse.published():
            away_s[:] = away_s or [time.monotonic()]
        return bool(found) and found[0].restarts > replica.restarts and found[0].ready

    wait_for(back, READY_AGAIN_S, f"{replica.name} restarted")
    return away_s[0] if away_s else time.monotonic()


def _wait_other_certificate(api: Api, certificate: bytes, known: bytes) -> None:
    def changed() -> bool:
        now = secret(api)
        newest = now.get("ca.crt", b"").partition(b"-----END")[0]
        trusted = bool(newest) and all(newest in bundle for bundle in bundles(api))
        return trusted and newest not in known and now["tls.crt"] != certificate and _signs(newest, now)

    wait_for(changed, CHANGE_S, "a certificate of another CA")


def _signs(newest: bytes, now: dict[str, bytes]) -> bool:
    leaf, ca = (x509.load_pem_x509_certificate(now[key]) for key in ("tls.crt", "ca.crt"))
    return leaf.issuer == ca.subject


def _write(api: Api, values: dict[str, bytes]) -> None:
    api.patch(SECRET, {"data": {key: b64encode(value).decode() for key, value in values.items()}})
