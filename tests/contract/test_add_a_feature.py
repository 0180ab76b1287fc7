"""The feature that the tutorial adds: its code is taken out of the page, applied to a copy, and used."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents import ROOT, Example, examples

PAGE = "docs/tutorials/add-a-feature.md"
BEES = "The bees of Quillfeather swarm in May."
ROSES = "Water the roses."


def apply(example: Example, copy: Path) -> None:
    """Write a file of the page, or change one as its diff says: each part of it stands there once."""
    if example.kind == "python file":
        assert not (copy / example.info[2]).exists()
        (copy / example.info[2]).write_text(example.text, encoding="utf-8")
        return
    head, *parts = example.text.split("@@\n")
    path = copy / head.splitlines()[1].removeprefix("+++ b/")
    text = path.read_text(encoding="utf-8")
    for part in parts:
        lines = part.splitlines(keepends=True)
        was = "".join(line[1:] for line in lines if line[0] in " -")
        assert text.count(was) == 1, was
        text = text.replace(was, "".join(line[1:] for line in lines if line[0] in " +"))
    path.write_text(text, encoding="utf-8")


@pytest.mark.timeout(120)
def test_a_feature_is_one_module_its_faces_and_a_row(tmp_path: Path) -> None:
    unread = shutil.ignore_patterns("static")
    shutil.copytree(ROOT / "src" / "bethink", tmp_path / "src" / "bethink", ignore=unread)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for example in examples(PAGE):
        apply(example, tmp_path)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path / "src"), str(ROOT)])}
    ended = subprocess.run(
        [sys.executable, "-m", "tests.added_feature", str(tmp_path)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout.splitlines()[-1]) == {
        "route": 201,
        "listed": [ROSES, BEES],
        "recalled": ["note", ROSES],
        "mcp": ["add_note"],
        "forgotten": [["notes", 1]],
        "left": [ROSES, "[forgotten]"],
        "cut": [["notes"], "Flowers! [forgotten]"],
        "none": [],
        "imported": 2,
        "again": 2,
        "back": [ROSES, BEES],
        "removed": 2,
        "gone": [],
        "command": ["0", "0", ROSES],
    }
