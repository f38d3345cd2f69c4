"""A Kubernetes API server over real HTTP/1.1 on 127.0.0.1, which answers as told.

    with FakeApi() as api:
        api.objects.put(node("edge-1"))
        client = RestClient.from_kubeconfig(api.kubeconfig(tmp_path), telemetry, clock)
        api.next("watch", status(429, retry_after_s=3))     # the next watch only
        api.always("list", status(500))                     # until api.behave()
        api.until(lambda: api.count("list") == 2)

Its content is `Objects`. An *answer* is any function of an Exchange; `answers` has those for the faults of real servers and
networks: refusals, hangs, cut connections, slow bytes, scripted streams. Open watches are ended, cut or muted (a half-open
socket) from the test. `requests` lists everything that was asked.

Threads: one listener, one per connection; `stop` ends and joins them all.
"""

from __future__ import annotations

import json
import socket
import socketserver
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from controllers.testing.answers import TICK_S, Answer, Exchange, Request, stream
from controllers.testing.objects import Objects, Refusal, Target, selection_of
from webhook.objects.meta import Json


class FakeApi:
    """The server. Started by `with` or `start`."""

    def __init__(self, objects: Objects | None = None, *, watch_list: bool = True, tls: ssl.SSLContext | None = None) -> None:
        self.objects = objects or Objects()
        self.watch_list = watch_list  # False: refuses sendInitialEvents, as a server without the feature
        self.requests: list[Request] = []
        self.stopping = threading.Event()
        self._lock = threading.Lock()  # guards requests, _next, _always
        self._next: dict[str, deque[Answer]] = {}
        self._always: dict[tuple[str, str], Answer] = {}  # by verb and path
        self._epoch = 0  # of watches, guarded by objects.changed; older ones do as _farewell says
        self._farewell = "end"
        self.generation = 0  # of connections; those of an earlier one are not heard any more
        self._running = threading.Event()  # cleared while paused
        self._running.set()
        self._server = _Server(self, tls)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(TICK_S,), name="fake-api")

    # -- life

    def start(self) -> FakeApi:
        """Begin to listen."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """End every connection and thread."""
        self.stopping.set()
        self._running.set()
        self._server.shutdown()
        self._thread.join()
        self._server.drop_connections()
        with self.objects.changed:
            self.objects.changed.notify_all()
        self._server.server_close()

    def __enter__(self) -> FakeApi:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def kubeconfig(self, directory: Path, *, user: Json | None = None, cluster: Json | None = None) -> str:
        """The path of a kubeconfig for this server, written to *directory*."""
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "fake",
            "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "fake"}}],
            "clusters": [{"name": "fake", "cluster": {"server": self.url, **(cluster or {})}}],
            "users": [{"name": "fake", "user": user or {"token": "fake-token"}}],
        }
        path = directory / "kubeconfig"
        path.write_text(json.dumps(config))
        return str(path)

    # -- what it was asked

    def count(self, verb: str, path: str = "") -> int:
        """How many requests of *verb* there were (below *path*)."""
        return len(self.asked(verb, path))

    def asked(self, verb: str, path: str = "") -> list[Request]:
        """The requests of *verb* (below *path*), oldest first."""
        with self._lock:
            return [one for one in self.requests if verb in (one.verb, "any") and one.path.startswith(path)]

    def until(self, condition: Callable[[], bool], within_s: float = 5.0) -> None:
        """Block until *condition* holds. Raises TimeoutError after *within_s* real seconds."""
        limit_s = time.monotonic() + within_s
        while not condition():
            if time.monotonic() > limit_s:
                raise TimeoutError(f"not within {within_s} s; asked so far: {[one.verb for one in self.requests]}")
            time.sleep(0.002)

    # -- how it answers

    def next(self, verb: str, *answers: Answer) -> None:
        """Give *answers* to the next requests of *verb* ("any": of each), one each."""
        with self._lock:
            self._next.setdefault(verb, deque()).extend(answers)

    def always(self, verb: str, answer: Answer, path: str = "") -> None:
        """Give *answer* to every request of *verb* (below *path*) until `behave`."""
        with self._lock:
            self._always[verb, path] = answer

    def behave(self) -> None:
        """Forget all scripted answers."""
        with self._lock:
            self._next.clear()
            self._always.clear()

    def pause(self) -> None:
        """Accept and read, but answer nothing, also on open watches, as a stopped process behind its kernel."""
        self._running.clear()

    def resume(self) -> None:
        """Go on where `pause` stopped."""
        self._running.set()

    def end_watches(self) -> None:
        """End all open watches cleanly, as a server does at their timeout."""
        self._dismiss("end")

    def cut_watches(self) -> None:
        """End the connections of all open watches, as a dying server does."""
        self._dismiss("cut")

    def mute_watches(self) -> None:
        """Send nothing more on open watches, nor end them: a half-open socket."""
        self._dismiss("hang")

    def forget_connections(self) -> None:
        """Hear and say nothing more on any connection that exists, idle ones too, nor end it; new ones are served.

        What a NAT, a balancer or a firewall does that has lost its table.
        """
        self.generation += 1
        self.mute_watches()

    # -- inside

    def _dismiss(self, farewell: str) -> None:
        with self.objects.changed:
            self._epoch += 1
            self._farewell = farewell
            self.objects.changed.notify_all()

    def serve(self, exchange: Exchange) -> None:
        """Answer one request; called by the connection's thread."""
        verb = exchange.request.verb
        with self._lock:
            self.requests.append(exchange.request)
            queue = next((self._next[word] for word in (verb, "any") if self._next.get(word)), None)
            answer = queue.popleft() if queue else self._standing(verb, exchange.request.path)
        self._running.wait()
        (answer or self.ordinary)(exchange)

    def _standing(self, verb: str, path: str) -> Answer | None:
        fitting = [key for key in self._always if key[0] in (verb, "any") and path.startswith(key[1])]
        # The most particular one: by its path, then by its verb.
        return self._always[max(fitting, key=lambda key: (len(key[1]), key[0] != "any"))] if fitting else None

    def ordinary(self, exchange: Exchange) -> None:
        """The answer that nobody has scripted."""
        try:
            target = self.objects.target(exchange.request.path)
            if exchange.request.verb == "watch":
                self._watch(exchange, target)
            else:
                code, data = self._unary(exchange.request, target)
                exchange.respond(code, data)
        except Refusal as refusal:
            exchange.respond(refusal.code, json.dumps(refusal.status()).encode())

    def _unary(self, request: Request, target: Target) -> tuple[int, bytes]:
        sent: Any = json.loads(request.body) if request.body else {}
        match request.verb:
            case "list":
                return 200, self.objects.list_page(target, request.params)
            case "get":
                answer = self.objects.get(target)
            case "create" if target.subresource == "eviction":
                return 201, json.dumps(self.objects.evict(target, sent)).encode()
            case "create":
                return 201, json.dumps(self.objects.create(target, sent)).encode()
            case "update":
                answer = self.objects.update(target, sent)
            case "patch":
                answer = self.objects.patch(target, request.headers.get("content-type", ""), sent)
            case _:
                answer = self.objects.delete(target, sent)
        return 200, json.dumps(answer).encode()

    def _watch(self, exchange: Exchange, target: Target) -> None:
        params, changed = exchange.request.params, self.objects.changed
        selection = selection_of(params)
        if params.get("sendInitialEvents") and not self.watch_list:
            raise Refusal(422, "Invalid", "sendInitialEvents is forbidden for watch unless the WatchList feature gate is on")
        bookmarks = params.get("allowWatchBookmarks") == "true"
        with changed:
            epoch = self._epoch
            try:
                lines, position = self.objects.initial_lines(target, params)
            except Refusal as refusal:
                if refusal.code != 410:
                    raise
                # The real server has begun the stream when it finds out.
                stream({"type": "ERROR", "object": refusal.status()})(exchange)
                return
        exchange.begin()
        while not (self.stopping.is_set() or exchange.left()):
            self._running.wait()
            exchange.line(*lines)
            with changed:
                if epoch != self._epoch:
                    break
                lines, position = self.objects.lines_from(target, position, selection, bookmarks=bookmarks)
                if not lines:
                    changed.wait(TICK_S)
        {"end": exchange.end, "hang": exchange.hang, "cut": exchange.cut}[self._farewell]()


_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 64 * 1024  # a head and its body leave in one segment
    server: _Server

    def setup(self) -> None:
        if self.server.tls is not None:
            self.request = self.server.tls.wrap_socket(self.request, server_side=True)
            self.server.track(self.request)
        self._generation = self.server.api.generation
        super().setup()

    def finish(self) -> None:
        with suppress(OSError):  # what is still buffered for a client that has left
            super().finish()
        if self.server.tls is not None:
            self.server.shutdown_request(self.request)

    def handle(self) -> None:
        # A client that leaves in the middle is what half of the tests are about.
        with suppress(OSError, ValueError):
            super().handle()

    def _serve(self) -> None:
        parts = urlsplit(self.path)
        params = dict(parse_qsl(parts.query, keep_blank_values=True))
        headers = {name.lower(): value for name, value in self.headers.items()}
        content = self.rfile.read(int(headers.get("content-length") or 0))
        request = Request(self._verb(parts.path, params), self.command, parts.path, params, headers, content)
        api = self.server.api
        exchange = Exchange(self, request, api.stopping)
        if self._generation < api.generation:
            exchange.hang()
        else:
            api.serve(exchange)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve

    def _verb(self, path: str, params: Mapping[str, str]) -> str:
        if self.command != "GET":
            return _VERBS[self.command]
        if params.get("watch") in ("true", "1"):
            return "watch"
        try:
            return "get" if self.server.api.objects.target(path).name else "list"
        except Refusal:
            return "get"

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: `FakeApi.requests` is the log."""


class _Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = False
    block_on_close = True
    request_queue_size = 128
    allow_reuse_address = True

    def __init__(self, api: FakeApi, tls: ssl.SSLContext | None) -> None:
        self.api = api
        self.tls = tls
        self._sockets: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.track(request)
        super().process_request(request, client_address)

    def track(self, sock: socket.socket) -> None:
        """End *sock* too when the server stops."""
        self._sockets.add(sock)

    def shutdown_request(self, request: Any) -> None:
        self._sockets.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: a failed handshake or a client that left."""

    def drop_connections(self) -> None:
        for sock in list(self._sockets):
            with suppress(OSError):
                socket.socket.shutdown(sock, socket.SHUT_RDWR)
