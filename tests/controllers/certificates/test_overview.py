"""What the status says of the certificate of a process that follows none in the cluster."""

from __future__ import annotations

import pytest

from controllers.certificates.overview import overview
from controllers.config.webhook import CertificateOrigin, CertificateSection
from tests.controllers.certificates.builders import DAY_S, NOW_S, pair

IN_MEMORY = CertificateSection()
LEAF = pair(life_s=90 * DAY_S).leaf


def test_before_anything_is_served_nobody_knows_when_it_expires() -> None:
    assert overview(IN_MEMORY, None, None, NOW_S, local=True) == {"source": "self", "expiresInSeconds": None}


def test_what_is_served_has_so_many_seconds_left() -> None:
    assert overview(IN_MEMORY, LEAF, None, NOW_S + DAY_S, local=True)["expiresInSeconds"] == 89 * DAY_S


@pytest.mark.parametrize(
    ("section", "local", "expected"),
    [
        (IN_MEMORY, False, True),
        (IN_MEMORY, True, False),
        (CertificateSection(hosts=("gatehouse.example.com",)), False, False),
        (CertificateSection(secret_name="gatehouse-tls"), False, False),
        (CertificateSection(source=CertificateOrigin.FILES, cert_file="a", key_file="b"), False, False),
    ],
    ids=["in memory", "on files", "with hosts", "in a Secret", "from files"],
)
def test_a_certificate_for_localhost_only_is_told_where_an_api_server_calls(
    section: CertificateSection, local: bool, expected: bool
) -> None:
    assert overview(section, LEAF, None, NOW_S, local=local).get("localhostOnly", False) is expected
