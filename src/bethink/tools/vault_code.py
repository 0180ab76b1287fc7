"""Python over the vault: in the one-shot sandbox, on a copy of what the caller may see.

`tools/vault` offers it as `execute_python`. The copy is thrown away; what the code changed in it is taken
over page by page, each as a version that can be undone, and only where nobody changed the page meanwhile. Of
a large vault the pages that the code names are laid out first, and all of them where it reads another one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import partial
from importlib import resources
from typing import TYPE_CHECKING, Final

import anyio.to_thread

from bethink.errors import BadInput, BethinkError
from bethink.sandbox import MIB, REASONS, Limits
from bethink.sandbox.folder import Bounds, changed, prints_of
from bethink.tool import ToolContext, ToolOutput
from bethink.vault.entries import other_names
from bethink.vault.format import parse
from bethink.vault.links import key_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from bethink.sandbox import Outcome
    from bethink.sandbox.folder import Found
    from bethink.sandbox.interpreters import Interpreters
    from bethink.tools.vault_desk import Desk, Seen

_OWN: Final = ".bethink"
_READ, _NEEDED = f"{_OWN}/read", f"{_OWN}/needed"
_WHOLE_BYTES: Final = 4_000_000
"""A smaller vault is laid out whole: that takes less than finding out what is needed."""
_WHOLE_PAGES: Final = 500
_MORE_BYTES: Final = 64 * MIB
"""What code may write beside the pages."""
_MORE_FILES: Final = 2_000
_MOST_CHANGED: Final = 500
_MEMORY_BYTES: Final = 512 * MIB
_FUTURE: Final = "from __future__ import annotations\n"
_NOT_KEPT: Final = "[{name} is not kept: {why}]"


@dataclass(frozen=True, slots=True)
class _Copy:
    """What is laid out: pages as they are seen, by path, and the sizes of those that are not."""

    pages: Mapping[str, Seen]
    absent: Mapping[str, int]

    @property
    def names(self) -> dict[str, str]:
        """What else the pages that are laid out call themselves, as names are compared."""
        found: dict[str, str] = {}
        for path in sorted(self.pages):
            for alias in other_names(parse(self.pages[path].text)):
                found.setdefault(key_of(alias), path)
        return found

    def taints(self, read: Sequence[str]) -> bool:
        """Whether what code read of it may come from outside."""
        return any(path in self.pages and self.pages[path].untrusted for path in read)


@dataclass(frozen=True, slots=True)
class _Left:
    """What the code left behind: files that it changed or made, pages that it removed."""

    found: Sequence[Found]
    removed: Sequence[str]
    more: int


@dataclass(slots=True)
class _Taken:
    """What became of it."""

    notes: list[str] = field(default_factory=list[str])
    read: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VaultCode:
    """Runs code over the vault; it may take `timeout_s`, and what it prints is cut at `output_chars`."""

    desk: Desk
    interpreters: Interpreters
    timeout_s: float
    output_chars: int

    async def run(self, context: ToolContext, code: str, *, may_write: bool = True) -> ToolOutput:
        """What the code said and changed.

        Raises:
            SandboxUnavailable: there is none.
            BadInput: the code is no Python; the sentence says where.
        """
        _check(code)
        copy = await self._copy(context, code)
        outcome, left = await self._once(code, copy)
        if any(found.name == _NEEDED for found in left.found):
            copy = await self._copy(context, None)
            outcome, left = await self._once(code, copy)
        taken = await self._taken(context, copy, left, may_write=may_write)
        ending = None if outcome.ending == "finished" else _ended(outcome)
        text = "\n".join(part for part in (outcome.text.rstrip(), ending, *taken.notes) if part)
        error = {"finished": None, "failed": "code_failed", "timed_out": "timeout"}
        return ToolOutput(
            text or "{}",
            untrusted=copy.taints(taken.read),
            error=error.get(outcome.ending, f"code_{outcome.ending}"),
            memories=tuple(path for path in taken.read if path in copy.pages),
        )

    async def _copy(self, context: ToolContext, code: str | None) -> _Copy:
        """What to lay out: everything, or of a large vault what `code` names."""
        entries = [
            entry
            for entry in await self.desk.listed(context.principal, deep=True)
            if not entry.is_folder and entry.trouble is None
        ]
        few = len(entries) <= _WHOLE_PAGES and sum(entry.size for entry in entries) <= _WHOLE_BYTES
        pages: dict[str, Seen] = {}
        absent: dict[str, int] = {}
        for entry in entries:
            if code is None or few or _is_named(entry.path, code):
                try:
                    pages[entry.path] = await self.desk.read(context.principal, entry.path)
                except BethinkError:
                    # Changed or deleted since it was listed.
                    continue
            else:
                absent[entry.path] = entry.size
        return _Copy(pages, absent)

    async def _once(self, code: str, copy: _Copy) -> tuple[Outcome, _Left]:
        size = sum(len(seen.text.encode()) for seen in copy.pages.values())
        limits = Limits(
            timeout_s=self.timeout_s,
            memory_bytes=_MEMORY_BYTES,
            disk_bytes=2 * size + _MORE_BYTES,
            files=2 * len(copy.pages) + _MORE_FILES,
            output_chars=self.output_chars,
        )
        orders = json.dumps({"source": code, "absent": dict(copy.absent), "names": copy.names})
        program = await anyio.to_thread.run_sync(_program, orders)
        before: dict[str, tuple[int, int, int, int]] = {}

        def lay_out(root: Path) -> None:
            _lay_out(root, copy.pages)
            before.update(prints_of(root, limits.files))

        look = partial(_look, before, limits.files)
        return await self.interpreters.once(program, limits, lay_out=lay_out, take=look)

    async def _taken(self, context: ToolContext, copy: _Copy, left: _Left, *, may_write: bool) -> _Taken:
        """Take over what was changed."""
        taken = _Taken()
        changes = [found for found in left.found if not found.name.startswith(f"{_OWN}/")]
        for found in left.found:
            if found.name == _READ and found.content is not None:
                taken.read = tuple(map(str, json.loads(found.content)))
        if (changes or left.removed) and not may_write:
            taken.notes.append("[Nothing was changed: this key may only read.]")
            return taken
        tainted = copy.taints(taken.read)
        for found in changes:
            taken.notes += await self._take(context, copy, found=found, tainted=tainted)
        for path in left.removed:
            seen = copy.pages[path]
            try:
                await self.desk.delete(context, path, if_version=seen.version)
            except BethinkError as error:
                taken.notes.append(_NOT_KEPT.format(name=f"that {path} was deleted", why=error))
            else:
                taken.notes.append(f"[deleted: {path}]")
        if left.more:
            taken.notes.append(f"[{left.more:,} more files were changed, and are not kept]")
        return taken

    async def _take(self, context: ToolContext, copy: _Copy, *, found: Found, tainted: bool) -> list[str]:
        seen = copy.pages.get(found.name)
        try:
            text = _text_of(found)
            if seen is None:
                await self.desk.write(context, found.name, text, if_version="", untrusted=tainted)
            elif seen.text == text:
                return []
            else:
                await self.desk.edit(context, seen, text, untrusted=tainted)
        except BethinkError as error:
            return [_NOT_KEPT.format(name=found.name, why=error)]
        return [f"[{'changed' if seen else 'created'}: {found.name}]"]


def _check(code: str) -> None:
    """Refuse what is no Python before anything is laid out for it.

    Raises:
        BadInput: it is not.
    """
    try:
        compile(code, "<code>", "exec")
    except (SyntaxError, ValueError) as error:
        raise BadInput(f"This is no valid Python: {error}. Nothing was run.") from error
    except (RecursionError, MemoryError) as error:
        raise BadInput("This code is nested too deep to be read. Nothing was run.") from error


def _is_named(path: str, code: str) -> bool:
    """Whether code speaks of a page, by its path or by its name alone."""
    return path == "user.md" or path.rpartition("/")[2].removesuffix(".md") in code


def _program(orders: str) -> str:
    """The guest, with its orders where they may first stand."""
    guest = resources.files("bethink.tools").joinpath("vault_guest.py").read_text(encoding="utf-8")
    return guest.replace(_FUTURE, f"{_FUTURE}import json\nORDERS = json.loads({orders!r})\n", 1)


def _lay_out(root: Path, pages: Mapping[str, Seen]) -> None:
    for path, seen in pages.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        place.write_bytes(seen.text.encode())


def _look(before: Mapping[str, tuple[int, int, int, int]], most: int, root: Path) -> _Left:
    bounds = Bounds(_MOST_CHANGED, _MORE_BYTES, 2 * _MORE_BYTES)
    found, more = changed(root, before, most_files=most, bounds=bounds)
    now = prints_of(root, most)
    return _Left(found, sorted(path for path in before if path not in now), more)


def _text_of(found: Found) -> str:
    """The text of a file that code left.

    Raises:
        BadInput: it is too large, or no UTF-8 text.
    """
    if found.content is None:
        raise BadInput(f"it {found.why}")
    try:
        return found.content.decode()
    except UnicodeDecodeError as error:
        raise BadInput("it is no UTF-8 text") from error


def _ended(outcome: Outcome) -> str | None:
    if outcome.ending == "failed":
        return None
    return f"[The code was ended because {REASONS[outcome.ending]}.]"
