"""The checks that `make check` runs and no tool brings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from checks.budgets import function_at
from checks.due import ROOT, TESTED
from checks.hosts import named_hosts
from checks.requirements import Requirement, carried_ids, manifest_faults, marker_faults
from checks.rooms import features


def test_a_registry_host_in_a_lock_file_is_found_with_its_line() -> None:
    host = f"npmjs{'.'}org"  # in parts, or the check would find it here
    assert named_hosts(f"anyio==4.0\nhttps://example.{host}/anyio.tgz\n") == [(2, host)]


def test_plain_pins_and_ordinary_addresses_are_no_registry_hosts() -> None:
    assert named_hosts("anyio==4.0 --hash=sha256:00\nhttps://example.org/a\n") == []


def test_requirement_markers_are_read_wherever_they_stand() -> None:
    source = """
pytestmark = [pytest.mark.anyio, pytest.mark.requirement("R1", "C2")]
@pytest.mark.parametrize("a", [pytest.param(1, marks=pytest.mark.requirement("U3"))])
@pytest.mark.requirement(NAME)
def test_it(): ...
"""
    assert sorted(name for _, name in carried_ids(source)) == ["?", "C2", "R1", "U3"]


@pytest.mark.parametrize(
    ("requirement", "faults"),
    [
        (Requirement(title="T", room="agent", state="planned"), 0),
        (Requirement(title="T", room="agent", state="deviates"), 1),
        (Requirement(title="T", room="agent", state="deviates", why="W"), 0),
        (Requirement(title="T", room="agent", state="done"), 1),
        (Requirement(state="planned"), 1),
    ],
)
def test_the_manifest_says_what_each_requirement_is(requirement: Requirement, faults: int) -> None:
    assert len(manifest_faults({"R1": requirement})) == faults


def test_an_unknown_id_and_an_unproven_claim_are_faults() -> None:
    manifest = {"R1": Requirement(title="T", room="agent", state="covered")}
    assert marker_faults(manifest, {"R1": ["a.py:1"]}) == []
    assert len(marker_faults(manifest, {})) == 1
    assert len(marker_faults(manifest, {"R1": ["a.py:1"], "R999": ["a.py:2"]})) == 1


def test_an_exception_is_named_by_the_function_that_a_line_belongs_to() -> None:
    source = "class A:\n    def f(self):\n        if self:\n            x = 1\n\n@wraps\ndef g(): ...\n"
    assert [function_at(source, row) for row in (4, 7, 5)] == ["A.f", "g", "line 5"]


def test_the_layers_have_the_features_that_the_list_imports() -> None:
    source = "from bethink import memory, notes\nfrom bethink.agent import audit\nimport bethink\n"
    assert features(source) == ["memory", "notes"]


def test_a_test_that_needs_what_is_fetched_is_due_when_it_is_touched() -> None:
    marked = {
        (found[1], path.relative_to(ROOT).as_posix())
        for path in Path(ROOT / "tests").rglob("test_*.py")
        for found in re.finditer(r'pytest\.mark\.foreign\(make="([^"]+)"\)', path.read_text(encoding="utf-8"))
    }
    assert marked == {
        (name, path)
        for name, paths in TESTED.items()
        for path in paths
        if path.startswith("tests/") and Path(path).name.startswith("test_")
    }
    assert [path for paths in TESTED.values() for path in paths if not (ROOT / path).exists()] == []
