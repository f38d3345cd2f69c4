"""Statuses as a process gives them: a quiet replica, a busy one with something of everything, and nothing but failures."""

from __future__ import annotations

from typing import Any

from webhook.objects.meta import Json

NOW_S = 1_796_002_200.0  # 2026-11-30 01:30:00 UTC
DAY_S = 86400.0


def service(path: str, **changes: Any) -> Json:
    """A service that is ready and was asked nothing."""
    idle: Json = {"perSecond": 0.0, "p50Seconds": None, "p99Seconds": None, "windowSeconds": 300.0}
    counts = {f"{word}{suffix}": 0 for word in ("answered", "refused", "undecided") for suffix in ("", "Total")}
    rest: Json = {"lastRefusal": None, "lastUndecided": None}
    return {"path": path, "ready": True, "waitsFor": [], **idle, **counts, **rest, **changes}


def cache(objects: int, **changes: Any) -> Json:
    """A cache that follows."""
    return {"synced": True, "objects": objects, "silenceSeconds": 4.2, "trouble": None, **changes}


def quiet() -> Json:
    """A replica without a care, which does not lead."""
    return {
        "process": {
            "version": "0.1.0",
            "host": "gatehouse-6c9f7d5b8-x2v9q",
            "pid": 1,
            "uptimeSeconds": 300000.0,
            "ready": True,
            "failing": [],
            "checks": {"threads": None, "leader-election": None, "webhook": None, "node-taint": None},
            "local": False,
        },
        "services": {"node-taint": service("/node-taint"), "mutate": service("/mutate")},
        "caches": {"nodes": cache(120), "pods": cache(3480)},
        "certificate": {
            "source": "self",
            "expiresInSeconds": 64 * DAY_S,
            "caExpiresInSeconds": 339 * DAY_S,
            "secret": "kube-system/gatehouse-tls",
            "authorities": 1,
            "trusted": {"MutatingWebhookConfiguration": True, "ValidatingWebhookConfiguration": True},
            "uncovered": [],
            "handshakes": {"failed": {}, "failedTotal": 0, "windowSeconds": 300.0},
        },
        "kubernetes": {"version": "v1.37.2", "tested": True, "tooOldFor": []},
        "plugins": None,
        "leaderElection": {
            "enabled": True,
            "identity": "gatehouse-6c9f7d5b8-x2v9q_5f1c",
            "leading": False,
            "holder": "gatehouse-6c9f7d5b8-m4k7t_91ab",
            "leader": "gatehouse-6c9f7d5b8-m4k7t_91ab",
            "settlesInSeconds": None,
            "holderExpiredSeconds": None,
            "leaseAgeSeconds": 1.4,
            "seen": True,
            "lastContactSeconds": 0.8,
            "lastError": None,
            "controllers": {"edge-health": {"running": False, "queued": 0}},
        },
        "sidecars": {"count": 0, "good": 0, "stale": 0, "broken": 0, "entries": []},
        "coverage": {"counting": False},
        "databases": None,
        "addresses": None,
        "silentNodes": {"count": 0, "guarded": 0, "nodes": []},
    }


def silent(name: str, *, guarded: bool = True, age_s: float | None = 1900.0, ends_s: float | None = 84500.0) -> Json:
    """A silent node."""
    reason, vote = ("Guarded", "healthy") if guarded else ("VoteUnhealthy", "unhealthy")
    return {
        "node": name,
        "guarded": guarded,
        "reason": reason,
        "vote": vote,
        "ageSeconds": age_s if guarded else None,
        "endsInSeconds": ends_s if guarded else None,
    }


def refusal(
    reason: str, message: str, subject: str, user: str = "system:serviceaccount:kube-system:replicaset-controller"
) -> Json:
    """What a service remembers of one request."""
    return {"time": "2026-11-30T01:27:12Z", "reason": reason, "message": message, "object": subject, "user": user}


def busy() -> Json:
    """The leader of a large cluster on a bad night: something of everything."""
    limit = 'container "app": memory limit 9Gi exceeds 8Gi (namespace "shop")'
    return {
        **quiet(),
        "process": {
            **quiet()["process"],
            "uptimeSeconds": 12700.0,
            "checks": {
                **dict.fromkeys(("threads", "controller-edge-health", "controller-coverage", "leader-election")),
                **dict.fromkeys(("shutdown", "webhook", "certificate", "node-taint", "endpoint", "pod-status")),
                **dict.fromkeys(("mutate", "validate", "pod-ip", "workload-warnings")),
            },
        },
        "services": {
            "node-taint": service("/node-taint", **answered(1.2, 0.0008, 0.0021, 361, 5120)),
            "endpoint": service("/endpoint", **answered(38.4, 0.0014, 0.0081, 11520, 640211)),
            "pod-status": service("/pod-status", **answered(17.0, 0.0011, 0.0044, 5100, 210034)),
            "mutate": service("/mutate", **answered(6.35, 0.0032, 0.0225, 1905, 92210)),
            "validate": service(
                "/validate",
                **answered(6.1, 0.0019, 0.012, 1830, 91022),
                refused=14,
                refusedTotal=233,
                lastRefusal=refusal("OutOfLimits", limit, "pods shop/checkout-7d9c5b6f4-8xk2p"),
            ),
            "pod-ip": service(
                "/pod-ip",
                **answered(0.4, 0.0187, 0.241, 118, 4100),
                undecided=3,
                undecidedTotal=9,
                ready=False,
                waitsFor=["the leader has not adopted the pods of: web"],
                lastUndecided=refusal("Unavailable", "the API server could not be asked: timed out", "pods shop/db-0"),
            ),
            "workload-warnings": service("/workload-warnings"),
        },
        "caches": {
            "nodes": cache(4812),
            "pods": cache(51240, silenceSeconds=0.1),
            "namespaces": cache(311, silenceSeconds=31.0),
            "configmaps": cache(
                12, silenceSeconds=402.0, trouble="GET /api/v1/configmaps: 403 Forbidden: cannot list resource"
            ),
            "limitranges": cache(41),
            "addressreservations": cache(1890),
        },
        "plugins": [
            {
                "name": "team-label",
                "kind": "rule",
                "package": "shop-rules",
                "version": "1.2.0",
                "entryPoint": "shop_rules.team:RULE",
                "on": True,
            }
        ],
        "leaderElection": {
            **quiet()["leaderElection"],
            "leading": True,
            "leader": "gatehouse-6c9f7d5b8-x2v9q_5f1c",
            "holder": "gatehouse-6c9f7d5b8-x2v9q_5f1c",
            "controllers": {
                "edge-health": {"running": True, "queued": 3},
                "coverage": {"running": True, "queued": 0},
                "certificates": {"running": True, "queued": 0},
            },
        },
        "silentNodes": {
            "count": 5,
            "guarded": 4,
            "nodes": [
                silent("edge-berlin-01"),
                silent("edge-berlin-02", age_s=1650.0, ends_s=84750.0),
                silent("edge-lisbon-07", age_s=50400.0, ends_s=36000.0),
                silent("edge-oslo-03", age_s=310.0, ends_s=None),
                silent("edge-porto-11", guarded=False),
            ],
        },
        "sidecars": SIDECARS,
        "coverage": {
            "counting": True,
            "pods": {"bare": 6, "drifted": 2, "covered": 1204, "left_out": 0},
            "bareOwners": 1,
            "bare": [{"owner": "shop/ReplicaSet/cart-5b8", "pods": 6, "entries": ["envoy"], "example": "cart-5b8-77k2d"}],
            "driftedOwners": 1,
            "drifted": [{"owner": "shop/StatefulSet/ledger", "pods": 2, "entries": ["logs"]}],
        },
        "addresses": ADDRESSES,
        "databases": DATABASES,
    }


def answered(rate: float, p50_s: float, p99_s: float, lately: int, total: int) -> Json:
    """The traffic of a service."""
    return {"perSecond": rate, "p50Seconds": p50_s, "p99Seconds": p99_s, "answered": lately, "answeredTotal": total}


SIDECARS: Json = {
    "count": 3,
    "good": 1,
    "stale": 1,
    "broken": 1,
    "entries": [
        {
            "entry": "proxy",
            "source": "shop/mesh",
            "state": "broken",
            "revision": None,
            "faults": [
                {
                    "entry": "proxy",
                    "key": "proxy",
                    "line": 3,
                    "column": 12,
                    "path": "containers[0].image",
                    "message": "must be a string, not a number",
                }
            ],
            "shadowedBy": None,
        },
        {
            "entry": "logs",
            "source": "kube-system/log-collector",
            "state": "stale",
            "revision": "7c1d09be",
            "faults": [
                {
                    "entry": "logs",
                    "key": "logs",
                    "line": 9,
                    "column": 3,
                    "path": "volumes[1]",
                    "message": "no container mounts it",
                }
            ],
            "shadowedBy": None,
        },
        {
            "entry": "envoy",
            "source": "kube-system/envoy-initializer",
            "state": "good",
            "revision": "e0a41b77",
            "faults": [],
            "shadowedBy": None,
        },
    ],
}
ADDRESSES: Json = {
    "reservations": 1890,
    "bound": 1871,
    "reserved": 12,
    "cooling": 7,
    "oldestUnboundSeconds": 95.0,
    "waitingFor": [],
    "network": {
        "source": "Calico",
        "pools": [{"name": "legacy", "obstacle": "is disabled"}, {"name": "main", "obstacle": None}],
    },
    "poolCount": 3,
    "pools": [
        {"name": "db", "size": 64, "used": 61, "free": 3, "adopted": True, "fault": None},
        {"name": "spare", "size": 0, "used": 0, "free": 0, "adopted": False, "fault": "spec.addresses[0]: no address"},
        {"name": "web", "size": 4096, "used": 1829, "free": 2267, "adopted": False, "fault": None},
    ],
}
DATABASES: Json = {
    "count": 14,
    "protected": 14,
    "unreadable": 0,
    "deleting": 2,
    "oldestDeletionSeconds": 5400.0,
    "failing": 1,
    "deletions": [
        {"instance": "shop/orders", "ageSeconds": 5400.0, "waitsFor": "WaitsForPods"},
        {"instance": "lab/scratch", "ageSeconds": 40.0, "waitsFor": None},
    ],
    "failures": [{"instance": "shop/orders", "error": "Conflict: the claim shop/orders-data was changed meanwhile"}],
}


def failed() -> Json:
    """A process of which no section can be made."""
    return {name: {"error": "KeyError"} for name in busy()}
