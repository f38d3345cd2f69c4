"""Rules and controllers of others are used when the configuration names them, and a faulty one is told of by name and line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from controllers.config.document import Configuration, ConfigurationError, parse
from controllers.plugins.finding import CONTROLLERS, INSTALL, names
from controllers.plugins.using import OURS
from tests.controllers.plugins.conftest import Install
from tests.docs.diagrams import EVERYTHING
from tests.docs.references.metrics import wired

HEAD = "apiVersion: gatehouse.dev/v1alpha1\nkind: GatehouseConfiguration\n"
RULE = """
import attrs
from webhook.admission import *

@attrs.frozen
class Settings:
    label: str = "owner"
    grace_s: float = 1.0

def build(settings, facts):
    return lambda request, draft, context: Verdict(Reason.NOTHING_TO_DO)

PODS = Match("", "v1", "pods", (Operations.CREATE,), "Namespaced")
"""
FINE = RULE + "plugin = RulePlugin(settings=Settings, build=build, entries=(Entry((PODS,)),))\n"
CONTROLLER = """
from controllers.runtime import *
PODS = objects_resource("pods", "/api/v1/pods", "v1", "Pod")
plugin = ControllerPlugin(settings=NoSettings, watches=(Watch(PODS),), build=print)
"""
ORIGIN = "plug-in own (package own-module 1.2, entry point own_module:plugin)"


def configured(section: str) -> Configuration:
    return parse(f"{HEAD}plugins:\n{section}", "g.yaml")


def faults(section: str) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        configured(section)
    return [str(fault) for fault in caught.value.faults]


def test_a_rule_that_is_named_is_a_service_with_its_settings(install: Install) -> None:
    install(FINE)

    config = configured("  rules: {own: {label: team}}")

    (service,) = config.settings().plugins
    assert (service.name, service.path) == ("own", "/rules/own")
    assert str(config.plugins.rules_used[0].origin) == ORIGIN


def test_what_is_merely_installed_is_not_even_imported(install: Install) -> None:
    install("raise SystemExit('imported')")

    parse(HEAD, "g.yaml").settings()

    assert "own_module" not in sys.modules


def test_settings_are_as_strict_as_our_own_and_each_fault_has_its_line(install: Install) -> None:
    install(FINE)

    assert faults("  rules:\n    own:\n      lable: a\n      grace: 5\n      label: true\n") == [
        "g.yaml:6:7: plugins.rules.own.lable: unknown key: did you mean label?",
        'g.yaml:7:7: plugins.rules.own.grace: must be a duration such as "15s" or "1m30s", not 5',
        'g.yaml:8:7: plugins.rules.own.label: must be a string, not true (write "true")',
    ]


def test_what_is_not_installed_is_said_with_what_is(install: Install) -> None:
    install(FINE)

    (fault,) = faults("  rules: {owm: {}}")

    assert "no installed package has the entry point owm in the group gatehouse.rules: installed are own; " in fault
    assert fault.endswith(INSTALL)


def test_a_failing_import_names_the_package_the_entry_point_and_the_line(install: Install) -> None:
    install("import attrs\n1 / 0\n")

    (fault,) = faults("  rules: {own: {}}")

    assert f"plugins.rules.own: {ORIGIN}: cannot be imported: ZeroDivisionError: division by zero (" in fault
    assert "own_module.py:2)" in fault


@pytest.mark.parametrize("ending", ["raise SystemExit(3)", "from nowhere import nothing", "plugin = ", "other = 1"])
def test_whatever_an_import_does_is_a_fault_of_its_package(install: Install, ending: str) -> None:
    install(ending)

    (fault,) = faults("  rules: {own: {}}")

    assert f"{ORIGIN}: cannot be imported: " in fault


def test_an_error_of_syntax_is_at_its_line(install: Install) -> None:
    install("import attrs\n\nplugin = (\n")

    (fault,) = faults("  rules: {own: {}}")

    assert "cannot be imported: SyntaxError: " in fault
    assert fault.endswith("own_module.py:3)")


@pytest.mark.parametrize(("error", "told"), [("KeyError('x')", "KeyError: x"), ("SystemExit(0)", "SystemExit: 0")])
def test_whatever_a_validator_raises_is_one_line_at_the_settings(install: Install, error: str, told: str) -> None:
    install(FINE.replace("    grace_s", f"    def __attrs_post_init__(self):\n        raise {error}\n    grace_s"))

    assert faults("  rules:\n    own: {label: a}\n") == [f"g.yaml:5:5: plugins.rules.own: its validator failed: {told}"]


def test_an_entry_point_in_two_packages_is_nobodys(install: Install) -> None:
    install(FINE)
    install(FINE, module="their_module")

    (fault,) = faults("  rules: {own: {}}")

    assert "is in more than one package: own-module, their-module" in fault


@pytest.mark.parametrize("file", ["METADATA", "entry_points.txt"])
def test_a_package_whose_own_words_cannot_be_read_is_named_with_the_file(install: Install, site: Path, file: str) -> None:
    install(FINE)
    path = site / "own_module-1.2.dist-info" / file
    path.write_bytes(path.read_bytes() + b"caf\xff\n")

    (fault,) = faults("  rules: {own: {}}")

    assert "plugins.rules.own: " in fault
    assert f"{path}: 'utf-8' codec can't decode byte 0xff" in fault


def test_what_a_package_does_not_say_of_itself_is_unknown(install: Install, site: Path) -> None:
    install("plugin = []")
    (site / "own_module-1.2.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\n")

    (fault,) = faults("  rules: {own: {}}")

    assert "plug-in own (package unknown unknown, entry point own_module:plugin)" in fault


def test_names_and_paths_belong_to_one_rule_each(install: Install) -> None:
    install(FINE, name="mutate")
    install(FINE.replace("RulePlugin(", "RulePlugin(path='/validate', "), name="second", module="second_module")
    install(FINE.replace("RulePlugin(", "RulePlugin(path='/rules/fourth', "), name="third", module="third_module")
    install(FINE, name="fourth", module="fourth_module")

    found = faults("  rules:\n    mutate: {}\n    second: {}\n    third: {}\n    fourth: {}\n")

    assert [fault.partition("plugin): ")[2] for fault in found] == [
        "the name mutate is taken by Gatehouse's own mutate",
        "the path /validate is taken by Gatehouse's own validate",
        "the path /rules/fourth is taken by plug-in third (package third-module 1.2, entry point third_module:plugin)",
    ]


@pytest.mark.parametrize(
    ("ending", "told"),
    [
        ("plugin = build", "leads to a function, not to a RulePlugin"),
        ("import enum\nplugin = enum.Enum", "leads to an EnumType, not to a RulePlugin"),
        ("plugin = RulePlugin(settings=dict, build=build, entries=(Entry((PODS,)),))", "dict: settings are an attrs class"),
        ("plugin = RulePlugin(settings=Settings, build=build, entries=())", "has no registration"),
        ("plugin = RulePlugin(settings=Settings, build=build, entries=lambda it: it.no)", "has no attribute 'no'"),
        (
            "import sys\nplugin = RulePlugin(settings=Settings, build=build, entries=lambda it: sys.exit(0))",
            "the registrations cannot be made: SystemExit: 0",
        ),
    ],
)
def test_a_plugin_that_cannot_be_used_is_refused_with_the_reason(install: Install, ending: str, told: str) -> None:
    install(RULE + ending + "\n")

    (fault,) = faults("  rules: {own: {}}")

    assert f"plugins.rules.own: {ORIGIN}: " in fault
    assert told in fault


def test_a_controller_is_found_in_its_own_group(install: Install) -> None:
    install(CONTROLLER, group=CONTROLLERS)

    config = configured("  controllers: {own: {}}")

    assert names(CONTROLLERS) == ["own"]
    assert [watch.resource.name for watch in config.plugins.controllers_used[0].watches] == ["pods"]
    assert "installed are" not in faults("  rules: {own: {}}")[0]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("plugin = ControllerPlugin(", "plugin = dict(", "leads to a dict, not to a ControllerPlugin"),
        ("watches=(", "watches=() and (", "expected one controllers.runtime.Watch or more, found ()"),
        ("watches=(", "watches=lambda it: it.gone, build2=(", "cannot be imported"),
        ("(Watch(PODS),)", "(Watch(PODS), Watch(PODS))", "two watched resources have the same name"),
    ],
)
def test_a_controller_that_cannot_be_used_is_refused_with_the_reason(install: Install, old: str, new: str, told: str) -> None:
    assert old in CONTROLLER
    install(CONTROLLER.replace(old, new), group=CONTROLLERS)

    (fault,) = faults("  controllers: {own: {}}")

    assert told in fault


def test_our_own_controllers_keep_their_names(install: Install) -> None:
    install(CONTROLLER, group=CONTROLLERS, name="coverage")

    (fault,) = faults("  controllers: {coverage: {}}")

    assert fault.endswith("the name coverage is taken by Gatehouse's own controller")


def test_our_own_controllers_are_those_that_there_are() -> None:
    leading = wired(EVERYTHING).leading
    assert leading is not None

    assert {name.removeprefix("controller/") for name in leading.status()["controllers"]} == OURS


@pytest.mark.parametrize("section", ["  rules: []", "  rules: [own]", "  controllers: own"])
def test_the_section_is_an_object_of_names(section: str) -> None:
    (fault,) = faults(section)

    assert "must be an object, name of the entry point: settings" in fault
