"""Every golden case, directly and through wsgiref with its validator."""

from __future__ import annotations

import io
from pathlib import Path
from wsgiref.handlers import SimpleHandler
from wsgiref.validate import validator

import pytest

from webhook.admission.call import Call, Reply
from webhook.admission.gate import Gate
from webhook.clock import Clock
from webhook.serving.environ import ACCEPTED, CLIENT
from webhook.serving.wsgi import application
from webhook.testing import golden

FOLDER = Path(__file__).parents[1] / "cases"
# `inject` holds manifests as people write them, for the command line.
CASES = sorted(path for path in FOLDER.rglob("*.yaml") if not path.is_relative_to(FOLDER / "inject"))


def through_wsgiref(gate: Gate, clock: Clock) -> golden.Send:
    """Mounts the application on wsgiref's own handler, behind the validator of PEP 3333."""
    app = validator(application(gate, clock))

    def send(call: Call) -> Reply:
        answer, errors = io.BytesIO(), io.StringIO()
        environ = {
            "REQUEST_METHOD": call.method,
            "SCRIPT_NAME": "",
            "PATH_INFO": call.path,
            "QUERY_STRING": call.query,
            "CONTENT_TYPE": call.content_type,
            "CONTENT_LENGTH": str(len(call.body)),
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "9443",
            "SERVER_PROTOCOL": "HTTP/1.1",
            ACCEPTED: call.accepted_s,
            CLIENT: call.client,
        }
        SimpleHandler(io.BytesIO(call.body), answer, errors, environ, multithread=True, multiprocess=False).run(app)
        assert not errors.getvalue(), errors.getvalue()
        head, _, body = answer.getvalue().partition(b"\r\n\r\n")
        return Reply(int(head.split()[1]), body)

    return send


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.stem}")
def test_golden_case(case: Path) -> None:
    golden.run(case)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.stem}")
def test_golden_case_through_wsgiref_with_its_validator(case: Path) -> None:
    golden.run(case, through_wsgiref)
