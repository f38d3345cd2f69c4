"""A real headless browser, driven over its debugging pipe: no port that somebody else could reach, no package but Debian's.

    with browser(folder) as chromium:
        tab = chromium.tab(width=390, height=844, dark=True)
        tab.open("http://127.0.0.1:8080/status")

Every wait is bounded by LIMIT_S. The browser leads a process group of its own, which is ended at the end.
Source: Chrome DevTools Protocol; content/public/common/content_switches.cc (--remote-debugging-pipe: messages end with NUL,
in on descriptor 3, out on 4).
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import attrs

from tests.cluster.binaries import install_tools

COMMAND = "chromium-headless-shell"
TOOLS = {COMMAND: COMMAND}
LIMIT_S = 60.0
# The descriptors have to be 3 and 4, which in a test's process are long taken.
LAUNCH = "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execvp(sys.argv[3], sys.argv[3:])"
FLAGS = (
    "--no-sandbox",  # root, in a container; it sees pages of ours only
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-proxy-server",
    "--disable-background-networking",
    "--hide-scrollbars",  # so that a width is a width
    "--force-device-scale-factor=1",
    "--remote-debugging-pipe",
)


class BrowserError(Exception):
    """The browser did not do what it was told, or not in time."""


class Browser:
    """One process; messages are answered in the order in which they were sent."""

    def __init__(self, process: subprocess.Popen[bytes], into: int, out_of: int) -> None:
        self._process = process
        self._into = into
        self._out_of = out_of
        self._rest = b""
        self._sent = 0
        self.events: list[dict[str, Any]] = []

    def tab(self, *, width: int, height: int = 900, dark: bool = False, scripts: bool = False) -> Tab:
        """A new tab of that size. scripts: whether pages may run any."""
        target = self.tell("Target.createTarget", url="about:blank")["targetId"]
        session = self.tell("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = Tab(self, session)
        for domain in ("Page", "Network", "Log", "Runtime", "DOM", "CSS", "Accessibility", "Audits"):
            tab.tell(f"{domain}.enable")
        tab.tell("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        tab.tell("Emulation.setEmulatedMedia", features=[scheme])
        tab.tell("Emulation.setScriptExecutionDisabled", value=not scripts)
        return tab

    def tell(self, method: str, session: str = "", **parameters: Any) -> dict[str, Any]:
        """What the browser answers. Raises BrowserError."""
        self._sent += 1
        message = {"id": self._sent, "method": method, "params": parameters} | ({"sessionId": session} if session else {})
        os.write(self._into, json.dumps(message).encode() + b"\0")
        end_s = time.monotonic() + LIMIT_S
        while (answer := self._next(end_s)).get("id") != self._sent:
            self.events.append(answer)
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    def wait_for(self, session: str, method: str) -> dict[str, Any]:
        """The next event *method* of *session*. Raises BrowserError."""
        end_s, seen = time.monotonic() + LIMIT_S, 0
        while True:
            for event in self.events[seen:]:
                if event.get("sessionId") == session and event.get("method") == method:
                    return event
            seen = len(self.events)
            self.events.append(self._next(end_s))

    def _next(self, end_s: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._out_of], [], [], max(0.0, end_s - time.monotonic()))
            part = os.read(self._out_of, 1 << 16) if ready else b""
            if not part:
                raise BrowserError(f"no answer; exit code {self._process.poll()}")
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message


@attrs.frozen
class Tab:
    """One page of the browser."""

    browser: Browser
    session: str

    def tell(self, method: str, **parameters: Any) -> dict[str, Any]:
        """What the browser answers about this tab."""
        return self.browser.tell(method, self.session, **parameters)

    def open(self, address: str) -> None:
        """Go there, and wait until everything has been loaded."""
        self.browser.events.clear()  # the empty page has been loaded, too
        went = self.tell("Page.navigate", url=address)
        if "errorText" in went:
            raise BrowserError(f"{address}: {went['errorText']}")
        self.browser.wait_for(self.session, "Page.loadEventFired")

    def seen(self, *methods: str) -> list[dict[str, Any]]:
        """The parameters of all events of these kinds so far."""
        own = [event for event in self.browser.events if event.get("sessionId") == self.session]
        return [event["params"] for event in own if event["method"] in methods]

    def asked_for(self) -> list[str]:
        """Every address that was asked for over the network."""
        requests = [event["request"]["url"] for event in self.seen("Network.requestWillBeSent")]
        return [url for url in requests if not url.startswith("data:")]

    def complaints(self) -> list[dict[str, Any]]:
        """What would stand in the console: errors, violations of the policy, faults of the markup."""
        return self.seen("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Audits.issueAdded")

    def evaluate(self, expression: str) -> Any:
        """The value of a script of ours in the page. Where scripts are off this works all the same."""
        result = self.tell("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise BrowserError(str(result["exceptionDetails"]))
        return result["result"].get("value")

    def roles(self) -> list[tuple[str, str]]:
        """The page as a screen reader has it: role and name of each node that is not ignored."""
        nodes = self.tell("Accessibility.getFullAXTree")["nodes"]
        return [
            (str(node["role"]["value"]), str(node.get("name", {}).get("value", ""))) for node in nodes if not node["ignored"]
        ]

    def picture(self, file: Path) -> bytes:
        """A PNG of the whole page, also kept as *file*."""
        size = self.tell("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        answer = self.tell("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        content = base64.b64decode(answer["data"])
        file.write_bytes(content)
        return content


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A browser whose profile is in *folder*. Ends it. Raises BuildError where it is missing and cannot be installed."""
    install_tools(TOOLS)
    ours, theirs = (list(os.pipe()) for _ in range(2))
    # Above 4, so that taking the places 3 and 4 overwrites neither.
    reader, writer = (fcntl.fcntl(number, fcntl.F_DUPFD, 10) for number in (ours[0], theirs[1]))
    for number in (ours[0], theirs[1]):
        os.close(number)
    command = [sys.executable, "-c", LAUNCH, str(reader), str(writer), COMMAND, *FLAGS, f"--user-data-dir={folder}/profile"]
    with (folder / "browser.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, pass_fds=(reader, writer), start_new_session=True)
    for number in (reader, writer):
        os.close(number)
    try:
        yield Browser(process, ours[1], theirs[0])
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its helpers, too: it leads the group
        process.wait(LIMIT_S)
        for number in (ours[1], theirs[0]):
            os.close(number)
