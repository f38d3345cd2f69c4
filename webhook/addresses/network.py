"""What the network itself takes as an address of a pod: Calico's pools and blocks, or ranges from the configuration. Pure.

Source: projectcalico/calico v3.28 libcalico-go/lib/ipam (AssignIP: the address must be in an enabled pool; neither nodeSelector
nor allowedUses is looked at), crd.projectcalico.org/v1 IPPool and IPAMBlock. That a pool without the use Workload counts as no
pool of the network is stricter than Calico on purpose: its addresses are for tunnels and Services, which take them unseen.
"""

from __future__ import annotations

import attrs

from webhook.addresses.ranges import AddressSet


@attrs.frozen
class NetworkPool:
    """A pool of the network."""

    name: str
    addresses: AddressSet
    obstacle: str = ""  # why no pod gets an address of it: "is disabled", "is not for workloads"


@attrs.frozen
class Network:
    """Every pool of the network. One that has none takes no address, unless nobody says what it takes: then any will do."""

    pools: tuple[NetworkPool, ...] = ()
    source: str = ""  # who says so: "Calico", "features.podIP.ranges"; "" = nobody
    # What the pools without an obstacle hold together: computed once, asked for by every pod.
    _open: AddressSet = attrs.field(init=False, eq=False, repr=False)

    @_open.default
    def _united(self) -> AddressSet:
        return AddressSet.of(span for pool in self.pools if not pool.obstacle for span in pool.addresses.spans)

    def outside(self, addresses: AddressSet) -> AddressSet:
        """Those of *addresses* that the network would refuse."""
        return addresses.minus(self._open) if self.source else AddressSet()

    def refusal(self, addresses: AddressSet) -> str:
        """Why it would refuse some of *addresses*, naming them and the pool; "" when it would take all."""
        outside = self.outside(addresses)
        if not outside:
            return ""
        for pool in self.pools:
            inside = outside.common(pool.addresses)
            if inside:
                return f'{_are(inside)} in pool "{pool.name}" of {self.source}, which {pool.obstacle}'
        return f"{_are(outside)} not among the addresses of {self.source} ({self._open.brief or 'it has none'})"


def _are(addresses: AddressSet) -> str:
    return f"{addresses.brief} {'is' if addresses.size() == 1 else 'are'}"
