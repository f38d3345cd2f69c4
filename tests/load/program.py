"""The load program: built once from its sources into a cache folder, started, and its result read.

    with Program.start(Load(url=..., ca_file=..., bodies=(file,), requests=1000)) as program:
        result = program.result()

`run` does that in one call. The program ends by itself at the load's limit, when its standard input closes before it has
begun, and with the block, whatever happened. Needs Go. One thread at a time.
Errors: BuildError when it cannot be built; LoadError when it refuses or ends without a result, with what it said.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import attrs

from tests.cluster.binaries import BuildError, cache_folder

_SOURCES = Path(__file__).parent
_BUILD_WITHIN_S = 300.0
_GRACE_S = 15.0  # beyond the limit, for the report of many calls


class LoadError(Exception):
    """The program refused, or ended without a result; the message is its own."""


@attrs.frozen
class Load:
    """What to send. Figures are totals over all callers."""

    url: str  # https://ADDRESS:PORT/PATH
    ca_file: Path
    bodies: tuple[Path, ...]  # files with AdmissionReviews, in turn
    callers: int = 4
    requests: int = 0  # 0 = as many as duration_s allows
    duration_s: float = 0.0  # how long calls begin; 0 = until all requests are done
    limit_s: float = 60.0  # when everything ends
    timeout_s: float = 10.0  # of one call, and what ?timeout= says
    warm_up: int = 0  # calls before those that count
    retry: bool = False  # as client-go does on 429 and 5xx with Retry-After
    fresh_uid: bool = False  # a uid of its own for each call
    check: str = "allowed"  # any (status 200), uid, allowed, patch
    server_name: str = ""  # that the certificate must bear; "" = the URL's host
    allow_local: bool = False  # also addresses of this network namespace that are not loopback
    wait: bool = False  # begin at `Program.begin`, not after the warm-up

    def arguments(self) -> list[str]:
        """The command line."""
        given: dict[str, Any] = {
            "url": self.url,
            "ca": self.ca_file,
            "callers": self.callers,
            "requests": self.requests,
            "duration": f"{self.duration_s}s",
            "limit": f"{self.limit_s}s",
            "timeout": f"{self.timeout_s}s",
            "warm-up": self.warm_up,
            "check": self.check,
            "server-name": self.server_name,
        }
        switches = {"retry": self.retry, "fresh-uid": self.fresh_uid, "allow-local": self.allow_local, "wait": self.wait}
        return [
            *(f"-{name}={value}" for name, value in given.items()),
            *(f"-{name}" for name, on in switches.items() if on),
            *(f"-body={body}" for body in self.bodies),
        ]


@attrs.frozen
class Latency:
    """Quantiles in microseconds of the calls that were answered as they should be; 0 when there were none."""

    min: int
    p50: int
    p90: int
    p99: int
    max: int


@attrs.frozen
class Result:
    """What the callers saw."""

    requests: int  # calls that ended, in whatever way
    done: int  # those answered with 200 and what `check` asks for
    errors: Mapping[str, int]  # by kind: status, uid, decision, decode, timeout, refused, reset, closed, tls, …
    statuses: Mapping[str, int]  # of last answers, by code
    retries: int
    connections: int  # opened while the calls ran
    seconds: float
    rps: float  # of those that are done
    latency_us: Latency

    @classmethod
    def parse(cls, text: str) -> Result:
        """From the program's output."""
        fields = json.loads(text)
        return cls(**{**fields, "latency_us": Latency(**fields["latency_us"])})


class Program:
    """One started load program."""

    def __init__(self, load: Load, process: subprocess.Popen[str]) -> None:
        self.load = load
        self._process = process

    @classmethod
    def start(cls, load: Load, prefix: Sequence[str] = ()) -> Program:
        """Start it. *prefix* comes before its command, e.g. what enters a network namespace."""
        process = subprocess.Popen(
            [*prefix, str(binary()), *load.arguments()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for whoever started us: we end it ourselves
        )
        return cls(load, process)

    def wait_until_warm(self) -> None:
        """Return once the warm-up is over (with `wait`; it ends at the load's limit)."""
        if self._stream(self._process.stdout).readline() != "ready\n":
            raise LoadError(self._said())

    def begin(self) -> None:
        """Let the calls that count begin."""
        stdin = self._stream(self._process.stdin)
        stdin.write("\n")
        stdin.flush()

    def result(self) -> Result:
        """What came of it, when it is over."""
        try:
            output, complaint = self._process.communicate(timeout=self.load.limit_s + _GRACE_S)
        except subprocess.TimeoutExpired:
            raise LoadError(f"no result {_GRACE_S:g} s after its limit of {self.load.limit_s:g} s") from None
        if self._process.returncode:
            raise LoadError(complaint.strip() or f"it ended with {self._process.returncode}")
        return Result.parse(output)

    def end(self) -> None:
        """End it, whatever it is doing."""
        if self._process.poll() is None:
            self._process.kill()  # nothing of it needs an end of its own
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None and not stream.closed:
                stream.close()

    def __enter__(self) -> Program:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.end()

    def _said(self) -> str:
        self._process.kill()
        _, complaint = self._process.communicate()
        return complaint.strip() or "it ended before the warm-up was over"

    @staticmethod
    def _stream(stream: IO[str] | None) -> IO[str]:
        assert stream is not None  # opened by `start`
        return stream


def run(load: Load, prefix: Sequence[str] = ()) -> Result:
    """Send *load* and return what came of it."""
    with Program.start(load, prefix) as program:
        return program.result()


def binary() -> Path:
    """The program, built if its sources have changed (a second or two; half a minute when Go's own cache is cold)."""
    folder = cache_folder() / "bin" / f"load-{_digest()}"
    program = folder / "load"
    if program.exists():
        return program
    if shutil.which("go") is None:
        raise BuildError("the load program needs Go 1.24 or newer: https://go.dev/dl")
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two builds at once: the second finds the first one's
        if not program.exists():
            fresh = folder / "load.new"  # a build that is cut short leaves nothing under the name
            command = ["go", "build", "-buildvcs=false", "-o", str(fresh), "."]
            done = subprocess.run(
                command,
                cwd=_SOURCES,
                env=dict(os.environ),
                capture_output=True,
                text=True,
                timeout=_BUILD_WITHIN_S,
                check=False,
            )
            if done.returncode:
                raise BuildError(f"building the load program failed:\n{done.stderr[-4000:]}")
            fresh.replace(program)
    return program


def _digest() -> str:
    digest = hashlib.sha256()
    for path in sorted([*_SOURCES.glob("*.go"), _SOURCES / "go.mod"]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
