"""Stock cheroot with TLS and a constant answer: `python -m tests.bench.bare CERTIFICATE KEY`.

Two of its settings are not the defaults, for without them an ordinary Go client brings it down to a few requests a second:
threads enough for every connection that such a client opens, and no limit on connections that are kept. It reads each body
and looks at nothing in it. One JSON line with its address says that it listens.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from typing import Any

from cheroot.ssl.builtin import BuiltinSSLAdapter
from cheroot.wsgi import Server

# 2.5 connections a caller (the pool dials anew while others shake hands), at the 16 callers that a benchmark may use.
THREADS = 40
_RESPONSE = {"uid": "00000000-0000-0000-0000-000000000000", "allowed": True}
ANSWER = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": _RESPONSE}).encode()
HEADERS = [("Content-Type", "application/json"), ("Content-Length", str(len(ANSWER)))]


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Read what came, say yes."""
    environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
    start_response("200 OK", HEADERS)
    return (ANSWER,)


def main(certificate: str, key: str) -> None:
    """Serve until killed."""
    server = Server(("127.0.0.1", 0), application, numthreads=THREADS, request_queue_size=256)
    server.keep_alive_conn_limit = 10_000
    server.timeout = 120
    server.ssl_adapter = BuiltinSSLAdapter(certificate, key)
    server.prepare()
    host, port = server.bind_addr
    print(json.dumps({"webhook": f"{host}:{port}"}), flush=True)
    server.serve()


if __name__ == "__main__":
    main(*sys.argv[1:])
