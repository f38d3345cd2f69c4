"""One accepted socket as a pipe of clear bytes that never blocks.

TLS runs through memory (`ssl.SSLObject`), not through `ssl.SSLSocket`: everything the kernel holds comes in with one
read however many records it is, an answer leaves in one write, nothing decrypted can hide from the poll, and no path
exists on which clear text could reach the wire of a TLS connection.

Errors: ChannelClosed when the peer is gone or breaks the protocol; a label says how.
Thread rule: one thread at a time, the connection's owner; `abort` may be called by anyone.
"""

from __future__ import annotations

import contextlib
import socket
import ssl

from webhook.serving.ledger import Handshake

RECEIVE_BYTES = 64 * 1024
RECORD_BYTES = 16 * 1024  # the plain text of one TLS record at most (RFC 8446 5.1)


_NOTHING = memoryview(b"")


class ChannelClosed(Exception):
    """The peer is gone. *reason* is `eof`, `reset`, `tls`, `plain-http` or another short label."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Channel:
    """Clear bytes in and out of a non-blocking socket, through TLS when *context* is given."""

    __slots__ = ("_incoming", "_outgoing", "_socket", "_tls", "_unsent", "bytes_in", "bytes_out", "fd")

    def __init__(self, sock: socket.socket, context: ssl.SSLContext | None) -> None:
        self._socket = sock
        self.fd = sock.fileno()
        self._unsent = _NOTHING  # what the kernel would not take yet
        self.bytes_in = 0
        self.bytes_out = 0
        self._tls: ssl.SSLObject | None = None
        if context is not None:
            self._incoming = ssl.MemoryBIO()
            self._outgoing = ssl.MemoryBIO()
            self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)

    @property
    def tls(self) -> ssl.SSLObject | None:
        """The TLS state; None on a clear connection."""
        return self._tls

    @property
    def unsent_bytes(self) -> int:
        """Bytes that wait until the peer reads."""
        return len(self._unsent)

    def handshake(self) -> bool:
        """Take the handshake as far as the received bytes allow; True when it is done. Raises ChannelClosed."""
        if self._tls is None:
            return True
        self._fill()
        try:
            self._tls.do_handshake()
            return True
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLError as error:
            raise ChannelClosed(_handshake_fault(error)) from None
        finally:
            self._drain()

    def receive(self, *, filled: bool = False) -> bytes:
        """What has arrived, decrypted; empty when nothing has. Raises ChannelClosed, also at a regular end.

        *filled*: decrypt only what an earlier call has already taken from the socket.
        """
        if self._tls is None:
            return b"" if filled else self._read()
        if not filled and not self._fill():
            return b""
        try:
            data = self._tls.read(RECORD_BYTES)
            if self._incoming.pending:
                data = self._read_records(data)
        except ssl.SSLWantReadError:
            data = b""
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            raise ChannelClosed(Handshake.EOF) from None
        except ssl.SSLError:
            raise ChannelClosed("tls") from None
        if self._outgoing.pending:  # a key update or an alert asked for an answer
            self._drain()
        if not data and self._incoming.eof:
            raise ChannelClosed(Handshake.EOF)
        return data

    def send(self, data: bytes) -> bool:
        """Send all of *data*, keeping what the kernel does not take; True when nothing is kept. Raises ChannelClosed."""
        if self._tls is None:
            return self._push(data)
        try:
            written = self._tls.write(data)
            while written < len(data):  # one call writes at most one record
                written += self._tls.write(memoryview(data)[written:])
        except ssl.SSLError:
            raise ChannelClosed("tls") from None
        return self._push(self._outgoing.read())

    def flush(self) -> bool:
        """Go on sending what was kept; True when nothing is left. Raises ChannelClosed."""
        return self._push(b"")

    def send_clear(self, data: bytes) -> None:
        """Bytes past TLS, for a peer that does not speak it. Never used once a handshake has succeeded."""
        with contextlib.suppress(OSError):
            self._socket.send(data)

    def discard(self) -> bool:
        """Drop what has arrived, still encrypted; False at the end of the stream."""
        try:
            return bool(self._socket.recv(RECEIVE_BYTES))
        except (BlockingIOError, InterruptedError):
            return True
        except OSError:
            return False

    def end_sending(self) -> None:
        """Say that nothing more will come (close_notify, FIN) while the peer may still be sending."""
        self._say_goodbye()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Say goodbye and close. Idempotent."""
        self._say_goodbye()
        self._socket.close()

    def abort(self) -> None:
        """Cut the wire at once, whoever is using the channel; the owner's next call fails."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def _say_goodbye(self) -> None:
        if self._tls is None or self._unsent:
            return
        with contextlib.suppress(ssl.SSLError, ChannelClosed, ValueError, OSError):
            try:
                self._tls.unwrap()
            finally:
                self._drain()

    def _read(self) -> bytes:
        try:
            data = self._socket.recv(RECEIVE_BYTES)
        except (BlockingIOError, InterruptedError):
            return b""
        except OSError:
            raise ChannelClosed(Handshake.RESET) from None
        if not data:
            raise ChannelClosed(Handshake.EOF)
        self.bytes_in += len(data)
        return data

    def _fill(self) -> bool:
        """Move what the kernel holds into TLS; False when it held nothing."""
        try:
            data = self._socket.recv(RECEIVE_BYTES)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            raise ChannelClosed(Handshake.RESET) from None
        if data:
            self._incoming.write(data)
            self.bytes_in += len(data)
        else:
            self._incoming.write_eof()
        return True

    def _read_records(self, first: bytes) -> bytes:
        assert self._tls is not None
        pieces = [first]
        with contextlib.suppress(ssl.SSLWantReadError, ssl.SSLZeroReturnError):
            while self._incoming.pending:
                pieces.append(self._tls.read(RECORD_BYTES))
        return b"".join(pieces)

    def _drain(self) -> None:
        if self._outgoing.pending:
            self._push(self._outgoing.read())

    def _push(self, data: bytes | memoryview) -> bool:
        if self._unsent:
            data = bytes(self._unsent) + data if data else self._unsent
        elif not data:
            return True
        try:
            sent = self._socket.send(data)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:
            raise ChannelClosed(Handshake.RESET) from None
        self.bytes_out += sent
        if sent == len(data):
            self._unsent = _NOTHING
            return True
        self._unsent = memoryview(data)[sent:]  # a view: a large answer is not copied for each piece that leaves
        return False


def _handshake_fault(error: ssl.SSLError) -> str:
    """Why a handshake failed, from what OpenSSL calls it (SSL_R_* of openssl/sslerr.h)."""
    if isinstance(error, (ssl.SSLEOFError, ssl.SSLZeroReturnError)):
        return Handshake.EOF
    reason = (error.reason or "").upper()
    if reason == "HTTP_REQUEST":
        return Handshake.PLAIN_HTTP
    if reason in ("UNSUPPORTED_PROTOCOL", "VERSION_TOO_LOW"):
        return Handshake.TLS_VERSION
    # The alerts 42 to 46, 48, 113 and 116 (RFC 8446 6.2): all have the word in their names, but for unknown_ca.
    if "CERTIFICATE" in reason or "UNKNOWN_CA" in reason:
        return Handshake.CERTIFICATE
    return Handshake.ALERT if "ALERT" in reason else Handshake.NOT_TLS
