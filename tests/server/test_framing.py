"""Requests out of bytes, however they are cut."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.serving.framing import Framer, Request
from webhook.serving.limits import ServerLimits
from webhook.serving.refusal import Refused

LIMITS = ServerLimits(head_bytes=1024, target_bytes=256, header_count=20, body_bytes=4096, chunk_count=64)

tokens = st.text("abcdefghijklmnopqrstuvwxyzABCDEFXYZ0123456789!#$%&'*+-.^`|~", min_size=1, max_size=12)
values = st.text([chr(c) for c in [9, *range(32, 127), *range(160, 256)]], max_size=20).map(lambda text: text.strip(" \t"))
bodies = st.binary(max_size=300)


def chunked(pieces: list[bytes], extension: str = "") -> bytes:
    return b"".join(b"%x%s\r\n%s\r\n" % (len(piece), extension.encode(), piece) for piece in pieces) + b"0\r\n\r\n"


@st.composite
def requests(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """The bytes of a good request, and its decoded body."""
    names = draw(st.lists(tokens.map(lambda name: "x-" + name), max_size=5))
    headers = "".join(f"{name}:{draw(st.sampled_from(['', ' ', chr(9)]))}{draw(values)}\r\n" for name in names)
    path = draw(st.sampled_from(["/", "/endpoint?timeout=3s", "/a%20b?x=1", "/validate"]))
    head = f"{draw(st.sampled_from(['POST', 'GET', 'PUT']))} {path} HTTP/1.1\r\nhost: a\r\n{headers}"
    body = draw(bodies)
    kind = draw(st.sampled_from(["length", "chunked", "none"]))
    if kind == "none":
        return f"{head}\r\n".encode("latin-1"), b""
    if kind == "length":
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode("latin-1") + body, body
    cut = draw(st.integers(0, len(body)))
    pieces = [piece for piece in (body[:cut], body[cut:]) if piece]
    extension = draw(st.sampled_from(["", ";a=b", " ;x"]))
    return f"{head}Transfer-Encoding: chunked\r\n\r\n".encode("latin-1") + chunked(pieces, extension), body


def run(stream: bytes, cuts: list[int]) -> tuple[list[Request], bool]:
    """The requests that come out when *stream* is received in pieces, and whether it was refused then."""
    framer, found = Framer(LIMITS), []
    edges = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    try:
        for start, end in itertools.pairwise(edges):
            request = framer.receive(stream[start:end]) if end > start else None
            while request is not None:
                found.append(request)
                request = framer.next() if framer.pending else None
    except Refused:
        return found, True
    return found, False


@given(st.lists(requests(), min_size=1, max_size=3), st.lists(st.integers(0, 10_000), max_size=12))
def test_good_requests_come_out_whole_wherever_they_are_cut(sent: list[tuple[bytes, bytes]], cuts: list[int]) -> None:
    found, refused = run(b"".join(raw for raw, _ in sent), cuts)

    assert not refused
    assert [request.body for request in found] == [body for _, body in sent]


@given(st.lists(requests(), min_size=1, max_size=2), st.data(), st.lists(st.integers(0, 10_000), max_size=12))
def test_damaged_bytes_give_the_same_requests_and_the_same_end_wherever_they_are_cut(
    sent: list[tuple[bytes, bytes]], data: st.DataObject, cuts: list[int]
) -> None:
    stream = bytearray(b"".join(raw for raw, _ in sent))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(stream) - 1))
        stream[at : at + data.draw(st.integers(0, 2))] = data.draw(
            st.sampled_from(
                [b"\n", b"\r", b"\r\n", b"\0", b" ", b":", b"\r\n\r\n", b"5", b"", b"\xff", b"Content-Length: 3\r\n"]
            )
        )

    assert run(bytes(stream), cuts) == run(bytes(stream), [])


@given(st.binary(max_size=2000), st.lists(st.integers(0, 10_000), max_size=5))
def test_any_bytes_give_requests_or_a_refusal(stream: bytes, cuts: list[int]) -> None:
    run(stream, cuts)


def framed(head: str, body: bytes = b"") -> Request | None:
    return Framer(LIMITS).receive(head.replace("\n", "\r\n").encode("latin-1") + b"\r\n\r\n" + body)


def test_a_request_carries_its_parts() -> None:
    request = framed(
        "POST /end%20point?timeout=3s&x=%20 HTTP/1.1\nHost: gatehouse.kube-system.svc:443\nContent-Type: application/json\n"
        "Content-Length: 2\nX-One: a\nx-one: b\nX_Two: c",
        b"{}",
    )

    assert request is not None
    head = request.head
    assert (head.method, head.path, head.query, head.version, request.body) == (
        "POST",
        "/end point",
        "timeout=3s&x=%20",
        "HTTP/1.1",
        b"{}",
    )
    assert head.variables == {
        "HTTP_HOST": "gatehouse.kube-system.svc:443",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": "2",
        "HTTP_X_ONE": "a, b",
    }


@pytest.mark.parametrize(
    ("headers", "closes"),
    [
        ("", False),
        ("Connection: close\n", True),
        ("Connection: Keep-Alive, Close\n", True),
        ("Connection: keep-alive\n", False),
    ],
)
def test_connection_close_is_seen_in_any_spelling(headers: str, closes: bool) -> None:
    request = framed(f"GET / HTTP/1.1\n{headers}Host: a")

    assert request is not None
    assert request.head.close is closes


def test_http_1_0_needs_no_host_and_closes() -> None:
    request = framed("GET / HTTP/1.0\nConnection: keep-alive")

    assert request is not None
    assert request.head.close


def test_one_empty_line_before_a_request_is_ignored() -> None:
    assert Framer(LIMITS).receive(b"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n") is not None


REFUSALS = {
    "two lengths": ("POST / HTTP/1.1\nHost: a\nContent-Length: 3\nContent-Length: 4", 400, "repeated-header"),
    "two equal lengths": ("POST / HTTP/1.1\nHost: a\nContent-Length: 3\nContent-Length: 3", 400, "repeated-header"),
    "a list of lengths": ("POST / HTTP/1.1\nHost: a\nContent-Length: 3, 3", 400, "content-length"),
    "a negative length": ("POST / HTTP/1.1\nHost: a\nContent-Length: -1", 400, "content-length"),
    "a signed length": ("POST / HTTP/1.1\nHost: a\nContent-Length: +1", 400, "content-length"),
    "an empty length": ("POST / HTTP/1.1\nHost: a\nContent-Length:", 400, "content-length"),
    "a hexadecimal length": ("POST / HTTP/1.1\nHost: a\nContent-Length: 0x10", 400, "content-length"),
    "digits of another script": ("POST / HTTP/1.1\nHost: a\nContent-Length: \xb2", 400, "content-length"),
    "a length with an underscore": ("POST / HTTP/1.1\nHost: a\nContent-Length: 1_0", 400, "content-length"),
    "a length above the limit": ("POST / HTTP/1.1\nHost: a\nContent-Length: 4097", 413, "body-bytes"),
    "a length beyond any number": ("POST / HTTP/1.1\nHost: a\nContent-Length: " + "9" * 40, 413, "body-bytes"),
    "length beside chunked": (
        "POST / HTTP/1.1\nHost: a\nContent-Length: 3\nTransfer-Encoding: chunked",
        400,
        "length-and-chunked",
    ),
    "chunked beside length": (
        "POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\nContent-Length: 3",
        400,
        "length-and-chunked",
    ),
    "chunked in HTTP/1.0": ("POST / HTTP/1.0\nHost: a\nTransfer-Encoding: chunked", 400, "chunked-1.0"),
    "chunked twice": (
        "POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\nTransfer-Encoding: chunked",
        400,
        "repeated-header",
    ),
    "gzip": ("POST / HTTP/1.1\nHost: a\nTransfer-Encoding: gzip, chunked", 501, "transfer-coding"),
    "a misspelt chunked": ("POST / HTTP/1.1\nHost: a\nTransfer-Encoding: xchunked", 501, "transfer-coding"),
    "no Host": ("GET / HTTP/1.1\nAccept: a", 400, "no-host"),
    "two Hosts": ("GET / HTTP/1.1\nHost: a\nHost: b", 400, "repeated-header"),
    "a Host that is none": ("GET / HTTP/1.1\nHost: a b", 400, "host"),
    "too many headers": ("GET / HTTP/1.1\nHost: a\n" + "\n".join(f"a{n}: b" for n in range(20)), 431, "header-count"),
    "a head too large": ("GET / HTTP/1.1\nHost: a\nX: " + "b" * 1024, 431, "head-bytes"),
    "a target too long": ("GET /" + "a" * 300 + " HTTP/1.1\nHost: a", 414, "target-bytes"),
    "a target larger than a head": ("GET /" + "a" * 3000 + " HTTP/1.1\nHost: a", 414, "target-bytes"),
    "a folded header": ("GET / HTTP/1.1\nHost: a\nX: b\n c", 400, "header-name"),
    "a fold of the first header": ("GET / HTTP/1.1\n Host: a", 400, "header-name"),
    "a blank before the colon": ("GET / HTTP/1.1\nHost: a\nX : b", 400, "header-name"),
    "a header without a colon": ("GET / HTTP/1.1\nHost: a\nX", 400, "header-line"),
    "a known header without a colon": ("GET / HTTP/1.1\nHost", 400, "header-line"),
    "a header without a name": ("GET / HTTP/1.1\nHost: a\n: b", 400, "header-name"),
    "a NUL": ("GET / HTTP/1.1\nHost: a\nX: \0", 400, "control-character"),
    "a bare CR": ("GET / HTTP/1.1\nHost: a\nX: b\rY: c", 400, "control-character"),
    "an escape": ("GET / HTTP/1.1\nHost: a\nX: \x1b[0m", 400, "control-character"),
    "an absolute target": ("GET http://a/ HTTP/1.1\nHost: a", 400, "target"),
    "an asterisk": ("OPTIONS * HTTP/1.1\nHost: a", 400, "target"),
    "a tunnel": ("CONNECT a:443 HTTP/1.1\nHost: a", 400, "target"),
    "a fragment": ("GET /#a HTTP/1.1\nHost: a", 400, "target"),
    "a NUL in the path": ("GET /%00 HTTP/1.1\nHost: a", 400, "target"),
    "a target beyond ASCII": ("GET /\xe4 HTTP/1.1\nHost: a", 400, "target"),
    "two blanks": ("GET  / HTTP/1.1\nHost: a", 400, "request-line"),
    "no version": ("GET /\nHost: a", 400, "request-line"),
    "HTTP/2": ("PRI / HTTP/2.0\nHost: a", 505, "version"),
    "HTTP/1.2": ("GET / HTTP/1.2\nHost: a", 505, "version"),
    "a spelt version": ("GET / http/1.1\nHost: a", 400, "request-line"),
    "a method that is no token": ("G(T / HTTP/1.1\nHost: a", 400, "request-line"),
    "an unknown expectation": ("POST / HTTP/1.1\nHost: a\nExpect: a-miracle", 417, "expectation"),
}


@pytest.mark.parametrize(("head", "status", "reason"), REFUSALS.values(), ids=REFUSALS.keys())
def test_what_could_be_read_two_ways_is_refused(head: str, status: int, reason: str) -> None:
    with pytest.raises(Refused) as caught:
        framed(head)

    assert (caught.value.status, caught.value.reason) == (status, reason)


@pytest.mark.parametrize("head", [b"GET / HTTP/1.1\nHost: a\n\n", b"GET / HTTP/1.1\r\nHost: a\n\r", b"\0", b"GET /\0"])
def test_what_no_further_byte_can_mend_is_refused_before_the_head_ends(head: bytes) -> None:
    with pytest.raises(Refused):
        Framer(LIMITS).receive(head)


CHUNKS = {
    "no size": (b"\r\nabc\r\n0\r\n\r\n", 400),
    "a negative size": (b"-1\r\n", 400),
    "a prefixed size": (b"0x3\r\nabc\r\n0\r\n\r\n", 400),
    "a size with an underscore": (b"1_0\r\n", 400),
    "a size of nine digits": (b"000000003\r\nabc\r\n", 400),
    "a size above the limit": (b"1001\r\n", 413),
    "sizes above the limit together": (b"fff\r\n" + b"a" * 0xFFF + b"\r\n2\r\n", 413),
    "a chunk longer than its size": (b"3\r\nabcd\r\n0\r\n\r\n", 400),
    "a size line that ends in a bare LF": (b"3\nabc\r\n0\r\n\r\n", 400),
    "an endless extension": (b"3;" + b"a" * 400, 400),
    "too many chunks": (b"1\r\na\r\n" * 65, 400),
    "an endless trailer": (b"0\r\n" + b"a: b\r\n" * 2000, 431),
    "a trailer that is none": (b"0\r\nabc\r\n\r\n", 400),
}


@pytest.mark.parametrize(("body", "status"), CHUNKS.values(), ids=CHUNKS.keys())
def test_a_malformed_chunked_body_is_refused(body: bytes, status: int) -> None:
    with pytest.raises(Refused) as caught:
        framed("POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked", body)

    assert caught.value.status == status


def test_trailers_are_dropped() -> None:
    request = framed(
        "POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked", b"3\r\nabc\r\n0\r\nContent-Length: 7\r\nX: y\r\n\r\n"
    )

    assert request is not None
    assert request.body == b"abc"
    assert request.head.variables["CONTENT_LENGTH"] == "3"
