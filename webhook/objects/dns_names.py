"""Names that the API takes: DNS labels and subdomains. Pure.

Source: RFC 1123 as read by apimachinery pkg/util/validation: lower case only.
"""

from __future__ import annotations

import re
from typing import Final

LABEL_LIMIT: Final = 63
SUBDOMAIN_LIMIT: Final = 253

_LABEL: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?", re.ASCII)
_SUBDOMAIN: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*", re.ASCII)


def is_dns_label(name: str) -> bool:
    """Whether *name* may name a container, a volume, a namespace."""
    return len(name) <= LABEL_LIMIT and _LABEL.fullmatch(name) is not None


def is_dns_subdomain(name: str) -> bool:
    """Whether *name* may name most other objects."""
    return len(name) <= SUBDOMAIN_LIMIT and _SUBDOMAIN.fullmatch(name) is not None
