"""An import whose process is killed: told as stopped, and gone on with as the same one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command_line import CommandLine
from tests.exports import asked_and_answered, zipped


@pytest.mark.sqlite
@pytest.mark.timeout(120)
def test_an_import_that_was_killed_is_told_as_stopped_and_goes_on_as_the_same(
    plain: CommandLine, tmp_path: Path
) -> None:
    talks = [asked_and_answered(f"Talk {n}", f"Question {n}", "Yes") for n in range(130)]
    path = str(zipped(tmp_path / "chats.zip", {"conversations.json": talks}))
    process = plain.start("import", path, "--into", "both", "--topics", "none")
    page = plain.data / "vault" / "imported"
    while not page.exists():
        assert process.poll() is None
    process.kill()
    process.wait()

    (stopped,) = plain("import", "--list", "--json").documents
    assert stopped["state"] == "stopped"
    done = json.loads(plain("import", path, "--into", "both", "--topics", "none", "--json").out)
    assert done["id"] == stopped["id"]
    counts = done["report"]["conversations"]
    assert counts["known"] > 0
    assert counts["known"] + counts["new"] == 130
