"""Every level judges every pod as k8s.io/pod-security-admission does, the evaluator inside the API server."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.webhook.objects.security_pods import hardened, several_mutations, single_mutations
from webhook.objects.meta import Json
from webhook.objects.pod_security import BASELINE, RESTRICTED, Level, Profile, repaired, violations
from webhook.objects.pod_security.levels import LATEST
from webhook.objects.pod_security.standards import checks

ORACLE = Path(__file__).parents[2] / "oracles" / "podsecurity"

Judge = Callable[[Sequence[tuple[Json, Level]]], list[list[str]]]


@pytest.fixture(scope="module")
def go_judges(tmp_path_factory: pytest.TempPathFactory) -> Judge:
    """Asks the Go program which checks refuse each pod."""
    if shutil.which("go") is None:
        pytest.fail("the Go toolchain is missing: these tests compare with pod-security-admission (see README, Tests)")
    binary = tmp_path_factory.mktemp("oracle") / "podsecurity"
    built = subprocess.run(
        ["go", "build", "-o", str(binary), "."], cwd=ORACLE, capture_output=True, text=True, timeout=600, check=False
    )
    assert built.returncode == 0, built.stderr

    def judge(asked: Sequence[tuple[Json, Level]]) -> list[list[str]]:
        lines = "".join(
            json.dumps({"level": level.profile, "version": f"v1.{level.minor}", "pod": pod}) + "\n" for pod, level in asked
        )
        done = subprocess.run([str(binary)], input=lines, capture_output=True, text=True, timeout=100, check=False)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return judge


def agree(go_judges: Judge, asked: Sequence[tuple[Json, Level]]) -> None:
    theirs = go_judges(asked)
    ours = [list(dict.fromkeys(found.check for found in violations(pod, level))) for pod, level in asked]

    assert len(theirs) == len(asked)
    wrong = [(pod, str(level), we, they) for (pod, level), we, they in zip(asked, ours, theirs, strict=True) if we != they]
    assert not wrong, f"{len(wrong)} differ, the first: {wrong[0]}"


def test_one_change_to_a_hardened_pod_is_judged_alike(go_judges: Judge) -> None:
    agree(go_judges, [(pod, level) for pod in [hardened(), *single_mutations()] for level in (BASELINE, RESTRICTED)])


def test_one_change_is_judged_alike_in_every_version_of_the_policy(go_judges: Judge) -> None:
    levels = [Level(profile, minor) for profile in Profile for minor in (*range(LATEST + 1), LATEST + 5)]

    agree(go_judges, [(pod, level) for pod in single_mutations() for level in levels])


def test_the_pods_of_these_tests_offend_against_every_check(go_judges: Judge) -> None:
    levels = [Level(profile, minor) for profile in (Profile.BASELINE, Profile.RESTRICTED) for minor in (0, LATEST)]
    judged = go_judges([(pod, level) for pod in single_mutations() for level in levels])

    assert {check for failing in judged for check in failing} == {check.id for level in levels for check in checks(level)}


def test_many_changes_at_once_are_judged_alike(go_judges: Judge) -> None:
    chance = random.Random(37)
    pods = [several_mutations(chance) for _ in range(3000)]

    asked = [(pod, level) for pod in pods for level in (BASELINE, RESTRICTED, Level(Profile.RESTRICTED, chance.randrange(38)))]
    agree(go_judges, asked)


def test_a_container_that_says_nothing_is_let_in_everywhere_once_repaired(go_judges: Judge) -> None:
    asked = []
    for minor in range(LATEST + 1):
        level = Level(Profile.RESTRICTED, minor)
        pod: Json = {"spec": {"containers": []}}
        pod["spec"]["containers"] = [repaired({"name": "app", "image": "app:1"}, pod, level)]
        asked.append((pod, level))

    assert go_judges(asked) == [[] for _ in asked]
