"""The server against real sockets on the loopback."""
