"""Where certificates come from, and what is said of them while they are served."""

from __future__ import annotations

import datetime
import os
import time
from pathlib import Path

import pytest
import trustme

from controllers.testing import FakeClock
from webhook.serving.selfsigned import make_self_signed
from webhook.serving.tls import CertificateError, Certificates, FileCertificates, HeldCertificates, KeyPair, MadeCertificates
from webhook.telemetry import Telemetry

DAY_S = 86400.0


def test_a_served_certificate_that_expires_is_told_before_and_after(caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock()
    clock.step_wall(time.time() - clock.wall_s())
    made = make_self_signed(now_s=clock.wall_s(), lifetime_s=30 * DAY_S)
    certificates = Certificates(HeldCertificates(KeyPair(made.certificate, made.key)), Telemetry(), clock)
    certificates.load()
    levels = []
    for days in (0, 24, 0, 7, 0):  # on day 24, again the same day, on day 31, again
        clock.step_wall(days * DAY_S)
        with caplog.at_level("WARNING", logger="gatehouse"):
            certificates.refresh()
        levels.append([record.levelname for record in caplog.records])
        caplog.clear()

    assert levels == [[], ["WARNING"], [], ["ERROR"], []]


def test_the_cas_of_clients_are_read_anew_beside_a_pair_that_was_made_at_start(tmp_path: Path) -> None:
    made = make_self_signed(now_s=datetime.datetime.now(datetime.UTC).timestamp())
    file = tmp_path / "clients.crt"
    source = MadeCertificates(KeyPair(made.certificate, made.key), file)
    seen = []
    for _ in range(2):
        file.write_bytes(trustme.CA().cert_pem.bytes())
        seen.append(source.read().client_ca)

    assert seen[0] != seen[1]


def test_a_pipe_is_no_certificate_and_no_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "tls.crt")

    with pytest.raises(CertificateError, match="not a regular file"):
        FileCertificates(tmp_path / "tls.crt", tmp_path / "tls.key").read()
