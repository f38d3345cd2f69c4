"""Where the API server has what fixed addresses are about. Pure."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from webhook.addresses.address import Address
from webhook.addresses.facts import GROUP, POOLS, RESERVATIONS, VERSION

API_VERSION: Final = f"{GROUP}/{VERSION}"
RESERVATIONS_PATH: Final = f"/apis/{API_VERSION}/{RESERVATIONS}"
POOLS_PATH: Final = f"/apis/{API_VERSION}/{POOLS}"
STATEFUL_SETS_PATH: Final = "/apis/apps/v1/statefulsets"
PODS_PATH: Final = "/api/v1/pods"


def reservation_path(address: Address) -> str:
    """The reservation of *address*."""
    return f"{RESERVATIONS_PATH}/{quote(address.name, safe='')}"


def reservation_status_path(address: Address) -> str:
    """Its status."""
    return f"{reservation_path(address)}/status"


def pool_path(name: str) -> str:
    """The AddressPool *name*."""
    return f"{POOLS_PATH}/{quote(name, safe='')}"


def pods_path(namespace: str) -> str:
    """The pods of *namespace*."""
    return _inside(PODS_PATH, namespace)


def pod_path(namespace: str, name: str) -> str:
    """A pod."""
    return f"{pods_path(namespace)}/{quote(name, safe='')}"


def stateful_set_path(namespace: str, name: str) -> str:
    """A StatefulSet."""
    return f"{_inside(STATEFUL_SETS_PATH, namespace)}/{quote(name, safe='')}"


def _inside(path: str, namespace: str) -> str:
    """*path*, which is that of a kind in every namespace, in one of them."""
    group, _, plural = path.rpartition("/")
    return f"{group}/namespaces/{quote(namespace, safe='')}/{plural}"
