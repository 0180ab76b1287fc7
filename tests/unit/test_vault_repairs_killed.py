"""A repair that is cut short anywhere loses nothing, and is done by the same choice again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bethink.engines.memory import MemoryIndex, MemoryStore
from bethink.errors import StorageError
from bethink.store import Change
from bethink.vault.files.folder import Folder
from tests.unit.test_vault_repairs import mender

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]
SPLIT = f"# Big\nintro\n## One\n{'a' * 700} [[#Two]] [u](user.md) ^x\n## Two\n{'b' * 700}\n## Three\nc\n"


@dataclass(slots=True)
class Steps:
    """So many changes of the disk and the store are made, then none: as if the process had died."""

    left: int = 1_000_000

    def take(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise StorageError


class MortalStore(MemoryStore):
    """A store that ends with its process."""

    def __init__(self, steps: Steps) -> None:
        super().__init__(MemoryIndex())
        self.steps = steps

    async def commit(self, owner: str, changes: Sequence[Change]) -> None:
        """Keep it, while there are steps left."""
        self.steps.take()
        await super().commit(owner, changes)


def mortal(monkeypatch: pytest.MonkeyPatch) -> Steps:
    steps = Steps()

    def counted(made: Any) -> Any:  # noqa: ANN401 - any of a folder's methods
        def method(self: Folder, *given: Any, **named: Any) -> Any:  # noqa: ANN401
            steps.take()
            return made(self, *given, **named)

        return method

    for name in ("write", "move", "delete", "rename"):
        monkeypatch.setattr(Folder, name, counted(getattr(Folder, name)))
    return steps


@pytest.mark.parametrize(
    ("way", "path", "to", "pages"),
    [
        (
            "convert",
            "latin.md",
            "cp1252",
            {"latin.md": "# Café\n[[user]]\n".encode("cp1252"), "user.md": "[[latin]]"},
        ),
        (
            "split",
            "notes/big.md",
            None,
            {
                "notes/big.md": SPLIT,
                "notes/user.md": "[[big]] [[big#Two]] [[big#^x|block]]",
                "two.md": "[[big#Two]]",
            },
        ),
        (
            "rename",
            "notes/My Day?.md",
            None,
            {
                "notes/My Day?.md": "[[My Day?#a|here]] [x](../user.md)\n# a\n",
                "user.md": "[[My Day?]]",
                "notes/b.md": "[d](My%20Day.md)",
            },
        ),
        (
            "merge",
            "people/jane_doe.md",
            "jane_doe.md",
            {
                "people/jane_doe.md": "---\naliases: [Jay]\ncity: Oslo\n---\n# Jane\n- age: 64\n"
                "\n## Code\n```\nx\n\ny\n```\n",
                "jane_doe.md": "---\ncity: Bergen\n---\n# Jane Doe\n- likes: tea\n\n## Code\n- z\n",
                "acme.md": "[[people/jane_doe]] [[Jay]]",
                "notes.md": "[a](people/jane_doe.md)",
            },
        ),
    ],
)
async def test_wherever_it_is_cut_short_it_can_be_done_again(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    way: str,
    path: str,
    to: str | None,
    pages: Mapping[str, str | bytes],
) -> None:
    steps = mortal(monkeypatch)
    whole = mender(tmp_path / "whole", pages, max_file_bytes=1_000)
    await whole.make(way, path, to=to)
    wanted, is_over = whole.files(), False
    for count in range(100):
        store = MortalStore(steps)
        at = mender(tmp_path / str(count), pages, max_file_bytes=1_000, store=store)
        await at.choices()
        steps.left = count
        try:
            await at.make(way, path, to=to)
            is_over = True
        except StorageError:
            pass
        steps.left = 1_000_000
        later = mender(tmp_path / str(count), {}, max_file_bytes=1_000, store=store)
        later.kept.clock.advance(3_600)
        if later.files() != wanted:
            await later.make(way, path, to=to)
        assert later.files() == wanted, count
        if is_over:
            assert count > 3
            return
    pytest.fail("it never ended")
