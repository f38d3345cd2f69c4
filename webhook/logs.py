"""Logs: a constant message and facts as pairs, on stderr, as text or JSON lines.

    log = get_log("reflector")
    log.info("cache synced", resource="nodes", items=5000, seconds=0.41)

ERROR = a human must act; WARNING = degraded, healing itself; INFO = a state changed; DEBUG = per request.
Never object bodies, Secret data or patches. Any thread may log.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Any, TextIO

ROOT = "gatehouse"


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
        return json.dumps(line, default=str, ensure_ascii=False)


def configure_logging(*, verbose: bool = False, json_lines: bool = False, stream: TextIO | None = None) -> None:
    """Send Gatehouse's logs to *stream* (stderr). Called once, by `__main__`."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if json_lines else TextFormatter())
    root = logging.getLogger(ROOT)
    root.handlers[:] = [handler]
    root.propagate = False
    root.setLevel(logging.DEBUG if verbose else logging.INFO)


def _text(value: Any) -> str:
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if not text or any(c in text for c in ' "=\n\t\r') else text
