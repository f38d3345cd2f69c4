"""What is told while the certificate cannot be renewed."""

from __future__ import annotations

import pytest

from controllers.testing.answers import status
from tests.controllers.certificates.builders import DAY_S, NAME, NAMESPACE
from tests.controllers.certificates.scene import Scene

PATH = f"/api/v1/namespaces/{NAMESPACE}/secrets/{NAME}"


@pytest.mark.parametrize(("code", "hint"), [(422, "immutable cannot be changed: delete it, and it is made anew"), (403, "403")])
def test_a_secret_that_cannot_be_written_is_told_on_the_page_and_by_an_event(scene: Scene, code: int, hint: str) -> None:
    scene.settle()
    scene.api.always("patch", status(code), PATH)

    scene.later(61 * DAY_S)

    (trouble,) = scene.troubles
    assert hint in trouble
    assert ("Secret", "CertificateNotKept") in scene.heard.said
    assert scene.heard.notes[-1] == f"the certificate cannot be renewed: {trouble}"
    (secret,) = scene.api.objects.all("Secret").values()
    assert scene.heard.uids[-1] == secret["metadata"]["uid"], "kubectl describe shows the Events of a uid only"


def test_an_api_server_that_is_away_is_told_without_an_event(scene: Scene) -> None:
    scene.settle()
    scene.api.always("patch", status(503), PATH)

    scene.later(61 * DAY_S)

    assert "503" in scene.troubles[0]
    assert scene.heard.said == []


def test_the_trouble_is_over_with_the_next_write(scene: Scene) -> None:
    scene.settle()
    scene.api.always("patch", status(422), PATH)
    scene.later(61 * DAY_S)
    scene.api.behave()

    scene.later(60.0)

    assert scene.troubles[1:] == [""]
    assert scene.heard.said[-1] == ("Secret", "CertificateRenewed")


def test_who_leads_no_more_has_no_trouble_to_tell(scene: Scene) -> None:
    scene.settle()
    scene.api.always("patch", status(422), PATH)
    scene.later(61 * DAY_S)
    scene.stop()

    assert scene.troubles[-1] == ""


def test_a_secret_at_rest_is_no_trouble(scene: Scene) -> None:
    scene.settle()
    scene.run()

    assert scene.troubles == []
