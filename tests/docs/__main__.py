"""Renew what is generated of the documentation: `python -m tests.docs` (`make docs`)."""

from __future__ import annotations

from tests.docs.generated import FILES
from tests.docs.pages import ROOT

for file, made in FILES.items():
    text = made()
    if not file.exists() or file.read_text() != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        print(f"renewed {file.relative_to(ROOT)}")
