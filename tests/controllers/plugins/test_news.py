"""What is told of rules and controllers of others: the same on /statusz, on the page and in the text."""

from __future__ import annotations

from controllers.plugins import news
from controllers.plugins.finding import CONTROLLERS
from controllers.status.text import describe
from controllers.status.web.page import page
from tests.controllers.plugins.conftest import Install
from tests.controllers.plugins.test_using import CONTROLLER, FINE, configured
from webhook.objects.meta import Json


def told(install: Install, *, local: bool = False) -> list[Json]:
    """Of a rule and a controller that have one name."""
    install(FINE, name="labels")
    install(CONTROLLER, group=CONTROLLERS, name="labels", module="led_module")
    config = configured("  rules: {labels: {}}\n  controllers: {labels: {}}\n")
    return news.status(config.plugins, local=local) or []


def test_a_rule_and_a_controller_of_one_name_are_both_told(install: Install) -> None:
    rows = told(install)

    assert [(row["name"], row["kind"], row["entryPoint"]) for row in rows] == [
        ("labels", "rule", "own_module:plugin"),
        ("labels", "controller", "led_module:plugin"),
    ]


def test_on_files_a_rule_answers_and_a_controller_is_off(install: Install) -> None:
    assert [(row["kind"], row["on"]) for row in told(install, local=True)] == [("rule", True), ("controller", False)]


def test_page_and_text_name_each_with_its_package_and_version(install: Install) -> None:
    status = {"plugins": told(install)}

    for shown in (page(status, 0.0), describe(status)):
        assert "own-module 1.2" in shown and "led-module 1.2" in shown
