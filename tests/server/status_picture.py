"""Draws docs/pictures/status-page.png from the busy scene of the page's tests: `python -m tests.server.status_picture`."""

from __future__ import annotations

import base64
import tempfile
from pathlib import Path
from typing import Final

from controllers.status.web.page import page
from tests.controllers.served import ROOT
from tests.controllers.status.web.scenes import NOW_S, busy
from tests.server.browser import browser

FILE: Final = ROOT / "docs" / "pictures" / "status-page.png"
WIDTH, HEIGHT, SCALE = 1120, 860, 0.8  # the first answers and the first tables, in well under 150 KB


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, browser(Path(folder)) as running:
        (Path(folder) / "page.html").write_text(page(busy(), NOW_S))
        tab = running.tab(width=WIDTH, height=HEIGHT)
        tab.open(f"file://{folder}/page.html")
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT, "scale": SCALE}
        answer = tab.tell("Page.captureScreenshot", format="png", clip=clip)
        FILE.write_bytes(base64.b64decode(answer["data"]))


if __name__ == "__main__":
    main()
