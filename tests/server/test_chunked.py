"""The chunked coding is read strictly, however it is cut, and never takes more than it was given room for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.serving.chunked import LINE_BYTES, TRAILER_BYTES, ChunkDecoder
from webhook.serving.limits import ServerLimits
from webhook.serving.refusal import Refused

LIMITS = ServerLimits(body_bytes=64, chunk_count=4)


def decode(wire: bytes, *, step: int = 0, limits: ServerLimits = LIMITS) -> tuple[bytes, bytes] | None:
    """The body and what follows it, None while more must arrive; *wire* arrives *step* bytes at a time, 0: at once."""
    decoder, buffer, whole = ChunkDecoder(limits), bytearray(), False
    for at in range(0, len(wire), step or len(wire) or 1):
        buffer += wire[at : at + (step or len(wire))]
        whole = whole or decoder.feed(buffer)
    return (decoder.body(), bytes(buffer)) if whole else None


@pytest.mark.parametrize(
    ("wire", "body", "rest"),
    [
        (b"0\r\n\r\n", b"", b""),
        (b"3\r\nabc\r\n0\r\n\r\n", b"abc", b""),
        (b"1\r\na\r\n2\r\nbc\r\n00000000\r\n\r\nPOST /", b"abc", b"POST /"),
        (b"A\r\n0123456789\r\n0\r\n\r\n", b"0123456789", b""),
        (b"a\r\n\r\n\r\n\r\n\r\n\r\n\r\n0\r\n\r\n", b"\r\n" * 5, b""),
        (b"1;name=value\r\na\r\n0;x\r\n\r\n", b"a", b""),
        (b'1 \t; a="b\xff"\r\na\r\n0\r\n\r\n', b"a", b""),
        (b"1\r\na\r\n0\r\nX-Sum: 1\r\nY:\r\n\r\n", b"a", b""),
    ],
)
@pytest.mark.parametrize("step", [0, 1, 2, 3])
def test_a_body_is_its_chunks_and_what_follows_stays(wire: bytes, body: bytes, rest: bytes, step: int) -> None:
    assert decode(wire, step=step) == (body, rest)


@pytest.mark.parametrize(
    "wire", [b"", b"3", b"3\r", b"3\r\n", b"3\r\nab", b"3\r\nabc", b"3\r\nabc\r", b"3\r\nabc\r\n", b"0\r\n", b"0\r\nX: 1\r\n"]
)
def test_a_body_is_not_whole_before_its_end_has_arrived(wire: bytes) -> None:
    assert decode(wire) is None


@pytest.mark.parametrize(
    ("wire", "status", "reason"),
    [
        (b"\r\n", 400, "chunk"),
        (b"-1\r\n", 400, "chunk"),
        (b"+1\r\n", 400, "chunk"),
        (b"0x1\r\n", 400, "chunk"),
        (b"1_0\r\n", 400, "chunk"),
        (b" 1\r\n", 400, "chunk"),
        (b"g\r\n", 400, "chunk"),
        (b"\xd9\xa3\r\n", 400, "chunk"),  # a digit to Unicode
        (b"000000001\r\n", 400, "chunk"),  # nine digits
        (b"1 2\r\n", 400, "chunk"),
        (b"1;\x00\r\n", 400, "chunk"),
        (b"1\na\n0\n\n", 400, "chunk"),  # bare line feeds
        (b"1\r\nab\r\n", 400, "chunk"),
        (b"1\r\na\n0\r\n", 400, "chunk"),
        (b"1\r\na\r0", 400, "chunk"),
        (b"1;" + b"a" * LINE_BYTES, 400, "chunk"),
        (b"41\r\n", 413, "body-bytes"),  # 65 of 64
        (b"ffffffff\r\n", 413, "body-bytes"),
        (b"1\r\na\r\n" * 5, 400, "chunk-count"),
        (b"0\r\nno colon\r\n", 400, "trailer"),
        (b"0\r\n folded: 1\r\n", 400, "trailer"),
        (b"0\r\na b: 1\r\n", 400, "trailer"),
        (b"0\r\na: \x01\r\n", 400, "trailer"),
        (b"0\r\n" + (b"a: " + b"b" * 1000 + b"\r\n") * 9, 431, "trailer-bytes"),
        (b"0\r\na: " + b"b" * TRAILER_BYTES, 400, "chunk"),
    ],
)
@pytest.mark.parametrize("step", [0, 1])
def test_what_is_malformed_or_too_much_is_refused(wire: bytes, status: int, reason: str, step: int) -> None:
    with pytest.raises(Refused) as caught:
        decode(wire, step=step)

    assert (caught.value.status, caught.value.reason) == (status, reason)


@pytest.mark.parametrize("step", [0, 1])
def test_a_bare_line_feed_ends_no_trailer(step: int) -> None:
    with pytest.raises(Refused) as caught:
        decode(b"0\r\na: 1\nb: 2\r\n\r\n", step=step)

    assert caught.value.status == 400


def test_a_body_of_just_the_limit_is_taken_however_it_is_split() -> None:
    assert decode(b"40\r\n" + b"a" * 64 + b"\r\n0\r\n\r\n") == (b"a" * 64, b"")
    assert decode(b"20\r\n" + b"a" * 32 + b"\r\n20\r\n" + b"a" * 32 + b"\r\n0\r\n\r\n") == (b"a" * 64, b"")
    with pytest.raises(Refused, match="larger than 64 bytes"):
        decode(b"20\r\n" + b"a" * 32 + b"\r\n21\r\n")


def test_a_chunk_is_taken_while_it_arrives_and_counted() -> None:
    decoder, buffer = ChunkDecoder(LIMITS), bytearray(b"8\r\nabcd")

    assert not decoder.feed(buffer)

    assert (decoder.decoded_bytes, bytes(buffer)) == (4, b"")


@given(st.lists(st.binary(min_size=1, max_size=16), max_size=4), st.integers(1, 30))
def test_any_chunks_come_out_as_they_were_sent(pieces: list[bytes], step: int) -> None:
    wire = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"

    assert decode(wire, step=step) == (b"".join(pieces), b"")


@given(st.binary(max_size=60))
def test_whatever_arrives_is_a_body_a_refusal_or_not_whole_yet(wire: bytes) -> None:
    found: list[object] = []
    for step in (0, 1):
        try:
            found.append(decode(wire, step=step))
        except Refused as refused:
            found.append(refused.status)

    assert found[0] == found[1]
