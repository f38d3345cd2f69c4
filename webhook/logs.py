"""Logs: a constant message and facts as pairs, on stderr, as text or JSON lines.

    log = get_log("reflector")
    log.info("cache synced", resource="nodes", items=5000, seconds=0.41)

ERROR = a human must act; WARNING = degraded, healing itself; INFO = a state changed; DEBUG = per request.
Never object bodies, Secret data or patches. Control characters are escaped: what strangers send must not steer a terminal.
Any thread may log, and none ever waits for whoever reads the log: lines go through a bounded queue to a thread of their own;
what does not fit is dropped and counted in the next line that does.
"""

from __future__ import annotations

import copy
import json
import logging
import queue
import sys
import threading
import time
from typing import Any, TextIO

ROOT = "gatehouse"
QUEUE_LINES = 2000  # a second of the worst that the server's own limits let through
FLUSH_WITHIN_S = 1.0  # at the end of the process


class Log:
    """A named logger whose facts are keyword arguments."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(f"{ROOT}.{name}")

    def debug(self, message: str, /, **facts: Any) -> None:
        """Per request; off unless -v."""
        if self._logger.isEnabledFor(logging.DEBUG):
            self._logger.debug(message, extra={"facts": facts})

    def info(self, message: str, /, **facts: Any) -> None:
        """A state changed."""
        self._logger.info(message, extra={"facts": facts})

    def warning(self, message: str, /, **facts: Any) -> None:
        """Degraded, healing itself."""
        self._logger.warning(message, extra={"facts": facts})

    def error(self, message: str, /, *, exc_info: BaseException | None = None, **facts: Any) -> None:
        """A human must act. With *exc_info* the traceback is logged too."""
        self._logger.error(message, exc_info=exc_info, extra={"facts": facts})


class Throttle:
    """Which of many alike lines may be written: *limit* of each kind in PERIOD_S. Any thread; worst case a line too many."""

    PERIOD_S = 10.0
    KINDS = 10_000  # remembered; kinds that name objects would grow without end

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._seen: dict[str, tuple[float, int]] = {}

    def admits(self, kind: str, now_s: float) -> tuple[bool, int]:
        """Whether a line of *kind* may be written now, and how many were held back in the period before."""
        began_s, count = self._seen.get(kind, (now_s, 0))
        held_back = 0
        if now_s - began_s >= self.PERIOD_S:
            held_back, began_s, count = max(0, count - self._limit), now_s, 0
        if len(self._seen) >= self.KINDS:
            self._seen.clear()
        self._seen[kind] = (began_s, count + 1)
        return count < self._limit, held_back


def get_log(name: str) -> Log:
    """The log of the component *name* (`reflector`, `server`, …)."""
    return Log(name)


class TextFormatter(logging.Formatter):
    """`2026-11-29T10:00:00.123Z INFO reflector cache synced resource=nodes items=5000`."""

    def format(self, record: logging.LogRecord) -> str:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        facts: dict[str, Any] = getattr(record, "facts", {})
        pairs = "".join(f" {key}={_text(value)}" for key, value in facts.items())
        name = record.name.removeprefix(ROOT + ".")
        line = f"{stamp}.{int(record.msecs):03d}Z {record.levelname} {name} {record.getMessage()}{pairs}"
        return line + ("\n" + self.formatException(record.exc_info) if record.exc_info and record.exc_info[0] else "")


class JsonFormatter(logging.Formatter):
    """One JSON object a line: ts, level, logger, msg, then the facts."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "ts": round(record.created, 3),
            "level": record.levelname.lower(),
            "logger": record.name.removeprefix(ROOT + "."),
            "msg": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info and record.exc_info[0]:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class PatientHandler(logging.Handler):
    """Writes lines to *stream* on a thread of its own. A reader that stalls costs lines, never a caller's time."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._lines: queue.Queue[str | None] = queue.Queue(QUEUE_LINES)
        self._dropped = 0  # guarded by the handler's own lock, which logging holds around emit
        self._thread = threading.Thread(target=self._write, name="log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Queue the line. Never blocks, never raises."""
        try:
            if self._dropped:
                record = copy.copy(record)  # other handlers have lost nothing
                record.facts = {**getattr(record, "facts", {}), "lines_dropped_before": self._dropped}
            self._lines.put_nowait(self.format(record) + "\n")
            self._dropped = 0
        except queue.Full:
            self._dropped += 1
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        """Write what is queued, within FLUSH_WITHIN_S."""
        try:
            self._lines.put(None, timeout=FLUSH_WITHIN_S)
            self._thread.join(FLUSH_WITHIN_S)
        except queue.Full:
            pass
        super().close()

    def _write(self) -> None:
        while (line := self._lines.get()) is not None:
            try:
                self._stream.write(line)
                if self._lines.empty():
                    self._stream.flush()
            except (OSError, ValueError):
                continue  # a full disk, or a stream that somebody has closed: nobody is left to be told


def configure_logging(*, verbose: bool = False, json_lines: bool = False, stream: TextIO | None = None) -> None:
    """Send Gatehouse's logs to *stream* (stderr). Called once, by the command line; the interpreter's end flushes."""
    handler = PatientHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if json_lines else TextFormatter())
    root = logging.getLogger(ROOT)
    for former in root.handlers:
        former.close()
    root.handlers[:] = [handler]
    root.propagate = False
    root.setLevel(logging.DEBUG if verbose else logging.INFO)


def _text(value: Any) -> str:
    text = str(value)
    if text.isprintable():
        return json.dumps(text, ensure_ascii=False) if not text or any(c in text for c in ' "=') else text
    return json.dumps(text)
