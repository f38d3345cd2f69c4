"""Pages of another process: what is there answers slowly, endlessly, or something else altogether."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from controllers.cli import pages
from controllers.cli.main import main
from webhook.serving.answers import PLAIN_HTTP

OK = b"HTTP/1.1 200 OK\r\n"


@contextmanager
def answering(first: bytes, drip: bytes = b"", every_s: float = 0.02) -> Iterator[str]:
    """host:port of a server that says *first*, and then *drip* again and again; for ever where there is one."""
    over = threading.Event()

    def serve() -> None:
        with listening.accept()[0] as peer:
            _read_request(peer)  # or closing would reset the connection, and the answer with it
            try:
                peer.sendall(first)
                while drip and not over.wait(every_s):
                    peer.sendall(drip)
            except OSError:
                return  # the command has hung up

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"127.0.0.1:{listening.getsockname()[1]}"
        finally:
            over.set()
            thread.join(10)


def _read_request(peer: socket.socket) -> None:
    with peer.makefile("rb") as request:
        length = 0
        while line := request.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        request.read(length)


COMMANDS = [["status"], ["explain", "node", "edge-1", "--from-replica"]]


@pytest.mark.parametrize("command", COMMANDS, ids=["status", "explain"])
def test_a_port_with_tls_is_answered_with_the_flag_that_it_needs(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with answering(PLAIN_HTTP) as address:
        assert main([*command, "--address", address]) == 1

    assert "this port speaks HTTPS only: add --tls" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS, ids=["status", "explain"])
@pytest.mark.parametrize("first", [b"", OK + b"X: ", OK + b"\r\n", OK + b"Content-Length: 100000\r\n\r\n"])
def test_an_answer_that_comes_byte_by_byte_is_given_up(
    command: list[str], first: bytes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pages, "TIMEOUT_S", 0.3)
    with answering(first, b"x" if first else b"") as address:
        assert main([*command, "--address", address]) == 1

    said = capsys.readouterr().err
    assert "no whole answer within 0.3 s" in said or "closed connection without response" in said


@pytest.mark.parametrize("command", COMMANDS, ids=["status", "explain"])
@pytest.mark.parametrize(
    "answer",
    [
        OK + b"\r\n<!DOCTYPE html><p>hello",
        b"HTTP/1.1 404 Not Found\r\n\r\n<html>",
        OK + b"\r\nhello",
        OK + b"\r\n[1]",
        OK + b"\r\n" + b"[" * 100_000,
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: 1\r\n" * 1000 + b"\r\n",
    ],
    ids=["page", "no page", "text", "list", "deep", "ssh", "headers"],
)
def test_what_answers_otherwise_is_not_gatehouse_s_metrics_port(
    command: list[str], answer: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    with answering(answer) as address:
        assert main([*command, "--address", address]) == 1

    assert "not Gatehouse's metrics port" in capsys.readouterr().err


def test_of_a_page_without_end_only_so_much_is_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pages, "MOST_BYTES", 2**20)
    with answering(OK + b"\r\n", b" " * 2**18, every_s=0.0) as address:
        assert main(["status", "--address", address]) == 1

    assert "its answer is longer than 1 MiB" in capsys.readouterr().err
