"""The metrics port with TLS: the certificate of the webhook, one for both."""

from __future__ import annotations

import base64
import json
import ssl
import urllib.request
from pathlib import Path

from tests.controllers.served import LIMIT_S, Served, serve
from webhook.serving.tls import HeldCertificates, KeyPair, WithoutClients

CONFIG = "apiVersion: gatehouse.dev/v1alpha1\nkind: GatehouseConfiguration\nmetrics: {tls: true}\n"


def shown(served: Served, server: str) -> str:
    """The certificate that a server shows, verified against the CA that was announced."""
    host, _, port = served.addresses[server].rpartition(":")
    ca = base64.b64decode(served.addresses["caBundle"]).decode()
    context = ssl.create_default_context(cadata=ca)
    with urllib.request.urlopen(f"https://{host}:{port}/statusz", timeout=LIMIT_S, context=context) as answer:
        assert json.load(answer)["process"]["ready"]
    return ssl.get_server_certificate((host, int(port)))


def test_the_pages_are_served_with_the_webhook_s_own_certificate(tmp_path: Path) -> None:
    config = tmp_path / "gatehouse.yaml"
    config.write_text(CONFIG)
    with serve(tmp_path, "--config", str(config)) as served:
        host, _, port = served.addresses["webhook"].rpartition(":")

        assert shown(served, "metrics") == ssl.get_server_certificate((host, int(port)))


def test_a_scraper_is_asked_for_no_certificate() -> None:
    pair = KeyPair(b"certificate", b"key", b"the CA of the API server")

    assert WithoutClients(HeldCertificates(pair)).read() == KeyPair(b"certificate", b"key")
