"""Python over the vault: in the one-shot sandbox, on a copy of what the caller may see.

`tools/vault` offers it as `execute_python`. The copy is thrown away; what the code changed in it is taken
over page by page, each as a version that can be undone, and only where nobody changed the page meanwhile. Of
a large vault the pages that the code names are laid out first, and all of them where it reads another one.

What the code leaves was written by a stranger: it is read in a thread, within bounds. A change is what came
back otherwise than it was laid out; of what is missing in a list nothing is known. Code that was killed
changes nothing. What takes more than a few pages away is not done before the owner has agreed to the list.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio.to_thread
import msgspec

from bethink.errors import BadInput, BethinkError
from bethink.events import Event, MemoryChanged
from bethink.sandbox import MIB, REASONS, CodeLimits, Execution
from bethink.sandbox.folder import ReadBounds, is_gone, print_at, prints_of, read, read_all, shown
from bethink.tool import Foretold, ToolContext, ToolOutput
from bethink.vault.filters.views import undo_of_many
from bethink.vault.markdown.format import parse
from bethink.vault.markdown.frontmatter import other_names
from bethink.vault.markdown.links import key_of

if TYPE_CHECKING:
    from bethink.sandbox.folder import FolderFile, Print
    from bethink.sandbox.interpreters import Interpreters
    from bethink.tools.vault_access import VaultAccess
    from bethink.vault import CurrentPage

_GUEST: Final = Path(__file__).with_name("vault_prelude.py")
_OWN: Final = ".bethink"
_READ, _NEEDED = f"{_OWN}/read", f"{_OWN}/needed"
_WHOLE_BYTES: Final = 4_000_000
"""A smaller vault is laid out whole: that takes less than finding out what is needed."""
_WHOLE_PAGES: Final = 500
_MORE_BYTES: Final = 64 * MIB
"""What code may write beside the pages."""
_MORE_FILES: Final = 2_000
_MOST_CHANGED: Final = 500
_MOST_SEEN: Final = 100_000
"""Files that code left, and that are looked at for new pages."""
_CHANGED_BYTES: Final = 32 * MIB
"""What is read of all changed pages."""
_REPORT_BYTES: Final = 1 * MIB
_FEW: Final = 3
"""More pages than these are not deleted or emptied by one call before its owner has agreed."""
_EMPTIED: Final = 10
"""A page that is left with less than this part of its text is emptied."""
_LISTED: Final = 100
_MEMORY_BYTES: Final = 512 * MIB
_FUTURE: Final = "from __future__ import annotations\n"
_NOT_KEPT: Final = "[{name} is not kept: {why}]"
_MAY_BE_THERE: Final = "what it says may be in a new page that is not kept"
_LOSES: Final = "This code would delete or empty {count:,} pages of the vault:\n{pages}"
_OTHERWISE: Final = "[Nothing was changed: this is not what was agreed to. {losses}]"
_READ_ONLY: Final = "[Nothing was changed: this key may only read.]"
_KILLED: Final = "[Nothing was changed.]"


@dataclass(frozen=True, slots=True)
class _Copy:
    """What is laid out: pages as they are seen, by path, and the sizes of those that are not.

    `untrusted` is the least trust of it all. Code reaches it by many ways, and may say that it took
    another: what it tells and makes is trusted no more than that.
    """

    pages: Mapping[str, CurrentPage]
    absent: Mapping[str, int]
    untrusted: bool

    @property
    def names(self) -> dict[str, str]:
        """What else the pages that are laid out call themselves, as names are compared."""
        found: dict[str, str] = {}
        for path in sorted(self.pages):
            for alias in other_names(parse(self.pages[path].text)):
                found.setdefault(key_of(alias), path)
        return found


@dataclass(frozen=True, slots=True)
class _Left:
    """What the code left behind: pages that it changed or made, and paths of those that it removed.

    `others` are files that are no pages, `more` counts pages that were not read. `read` are the paths that it
    says to have read, None if it says nothing that can be believed. `is_short` says that it needs more pages.
    """

    found: Sequence[FolderFile]
    removed: Sequence[str]
    others: Sequence[str]
    more: int
    read: Sequence[str] | None
    is_short: bool


@dataclass(frozen=True, slots=True)
class VaultCode:
    """Runs code over the vault; it may take `timeout_s`, and what it prints is cut at `output_chars`."""

    desk: VaultAccess
    interpreters: Interpreters
    timeout_s: float
    output_chars: int

    async def run(
        self, context: ToolContext, code: str, *, agreed: str = "", may_write: bool = True
    ) -> ToolOutput | Foretold:
        """What the code said and changed; or, with nothing changed, what it would take away.

        `agreed` stands for the list of pages that its owner was shown.

        Raises:
            SandboxUnavailable: there is none.
            BadInput: the code is no Python; the sentence says where.
        """
        _check(code)
        copy = await self._copy(context, code)
        outcome, left = await self._once(code, copy)
        if left.is_short:
            copy = await self._copy(context, None)
            outcome, left = await self._once(code, copy)
        if outcome.ending not in {"finished", "failed"}:
            notes = [_KILLED]
        elif not may_write:
            notes = [_READ_ONLY] if left.found or left.removed else []
        elif len(lost := _lost(copy, left)) <= _FEW:
            notes = await self._taken_over(context, copy, left)
        elif not context.approved:
            return Foretold({"code": code, "agreed": _key(copy, lost)}, _loses(lost))
        elif agreed == _key(copy, lost):
            notes = await self._taken_over(context, copy, left)
        else:
            notes = [_OTHERWISE.format(losses=_loses(lost))]
        parts = [outcome.text.rstrip(), *notes]
        if outcome.ending not in {"finished", "failed"}:
            parts.insert(1, f"[The code was ended because {REASONS[outcome.ending]}.]")
        text = "\n".join(part for part in parts if part)
        error = {"finished": None, "failed": "code_failed", "timed_out": "timeout"}
        return ToolOutput(
            text or "{}",
            untrusted=copy.untrusted,
            error=error.get(outcome.ending, f"code_{outcome.ending}"),
            memories=tuple(path for path in left.read or () if path in copy.pages),
        )

    async def _copy(self, context: ToolContext, code: str | None) -> _Copy:
        """What to lay out: everything, or of a large vault what `code` names."""
        entries = [
            entry
            for entry in await self.desk.listed(context.principal, deep=True)
            if not entry.is_folder and entry.trouble is None
        ]
        few = len(entries) <= _WHOLE_PAGES and sum(entry.size for entry in entries) <= _WHOLE_BYTES
        pages: dict[str, CurrentPage] = {}
        absent: dict[str, int] = {}
        for entry in entries:
            name = entry.path.rpartition("/")[2].removesuffix(".md")
            if code is None or few or entry.path == "user.md" or name in code:
                try:
                    pages[entry.path] = await self.desk.read(context.principal, entry.path)
                except BethinkError:
                    # Changed or deleted since it was listed.
                    continue
            else:
                absent[entry.path] = entry.size
        untrusted = any(page.untrusted for page in pages.values())
        untrusted = untrusted or await self.desk.is_untrusted(context.principal, absent)
        return _Copy(pages, absent, untrusted)

    async def _once(self, code: str, copy: _Copy) -> tuple[Execution, _Left]:
        size = sum(len(page.text.encode()) for page in copy.pages.values())
        limits = CodeLimits(
            timeout_s=self.timeout_s,
            memory_bytes=_MEMORY_BYTES,
            disk_bytes=2 * size + _MORE_BYTES,
            files=2 * len(copy.pages) + _MORE_FILES,
            output_chars=self.output_chars,
        )
        orders = json.dumps({"source": code, "absent": dict(copy.absent), "names": copy.names})
        # The guest, with its orders where they may first stand.
        guest = await anyio.to_thread.run_sync(_GUEST.read_text, "utf-8")
        program = guest.replace(_FUTURE, f"{_FUTURE}import json\nORDERS = json.loads({orders!r})\n", 1)
        before: dict[str, Print] = {}

        def lay_out(root: Path) -> None:
            for path, page in copy.pages.items():
                place = root / path
                place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                place.write_bytes(page.text.encode())
            before.update({path: look for path in copy.pages if (look := print_at(root, path)) is not None})

        look = partial(_look, before, self.desk.views.vault.settings.max_file_bytes)
        return await self.interpreters.once(program, limits, lay_out=lay_out, take=look)

    async def _taken_over(self, context: ToolContext, copy: _Copy, left: _Left) -> list[str]:
        """Take over what was changed; of more than a few pages as one change, which one undo takes back."""
        if len(left.found) + len(left.removed) <= _FEW:
            return await self._taken(context, copy, left)
        changes: list[MemoryChanged] = []

        def emit(event: Event) -> None:
            changes.append(event) if isinstance(event, MemoryChanged) else context.emit(event)

        try:
            return await self._taken(replace(context, emit=emit), copy, left)
        finally:
            if tokens := [one.undo for one in reversed(changes) if one.undo is not None]:
                ids = tuple(path for one in changes for path in one.ids)
                alike = len({one.change for one in changes}) == 1
                change = changes[0].change if alike else "superseded"
                context.emit(
                    MemoryChanged(
                        change=change, ids=ids, text=f"{len(ids):,} pages", undo=undo_of_many(tokens)
                    )
                )

    async def _taken(self, context: ToolContext, copy: _Copy, left: _Left) -> list[str]:
        """Take over page by page; what became of each."""
        notes: list[str] = []
        all_made = not left.more
        for found in left.found:
            is_kept, more_notes = await self._take(context, copy, found=found)
            notes += more_notes
            all_made = all_made and (is_kept or found.name in copy.pages)
        for path in left.removed:
            page = copy.pages[path]
            try:
                if not all_made:
                    # What it said may be in a page that was not kept: the code may have renamed it.
                    raise BadInput(_MAY_BE_THERE)
                await self.desk.delete(context, path, if_version=page.version)
            except BethinkError as error:
                notes.append(_NOT_KEPT.format(name=f"that {path} was deleted", why=error))
            else:
                notes.append(f"[deleted: {path}]")
        if left.more:
            notes.append(f"[{left.more:,} more pages were changed, and are not kept]")
        if len(left.others) <= _FEW:
            notes += [_NOT_KEPT.format(name=name, why="it is no page") for name in left.others]
        else:
            notes.append(f"[{len(left.others):,} files that are no pages are not kept]")
        return notes

    async def _take(
        self, context: ToolContext, copy: _Copy, *, found: FolderFile
    ) -> tuple[bool, Sequence[str]]:
        """Whether a page is as the code left it, and what is told of it."""
        page = copy.pages.get(found.name)
        try:
            if found.content is None:
                raise BadInput("it is too large for a page")
            text = found.content.decode()
            if page is None:
                await self.desk.write(context, found.name, text, if_version="", untrusted=copy.untrusted)
            elif page.text == text:
                return True, ()
            else:
                await self.desk.write(
                    context, page.path, text, if_version=page.version, untrusted=copy.untrusted
                )
        except UnicodeDecodeError:
            return False, [_NOT_KEPT.format(name=found.name, why="it is no UTF-8 text")]
        except BethinkError as error:
            return False, [_NOT_KEPT.format(name=found.name, why=error)]
        return True, [f"[{'changed' if page else 'created'}: {found.name}]"]


def _check(code: str) -> None:
    """Refuse what is no Python before anything is laid out for it."""
    try:
        compile(code, "<code>", "exec")
    except (SyntaxError, ValueError) as error:
        raise BadInput(f"This is not valid Python: {error}. Nothing was run.") from error
    except (RecursionError, MemoryError) as error:
        raise BadInput("This code is nested too deep to be read. Nothing was run.") from error


def _look(before: Mapping[str, Print], most_bytes: int, root: Path) -> _Left:
    """What is otherwise than it was laid out (`before`): each page by itself, since a list may be cut."""
    own = {name: read(root, name, _REPORT_BYTES) for name in (_READ, _NEEDED)}
    changed = [path for path, look in before.items() if print_at(root, path) not in {look, None}]
    beside = [
        name for name in prints_of(root, _MOST_SEEN) if name not in before and not name.startswith(f"{_OWN}/")
    ]
    pages = [name for name in beside if name.endswith(".md") and not re.search(r"(^|/)\.", name)]
    names = sorted((*changed, *pages))
    return _Left(
        found=read_all(root, names, ReadBounds(_MOST_CHANGED, most_bytes, _CHANGED_BYTES)),
        removed=sorted(path for path in before if is_gone(root, path)),
        others=sorted(shown(name) for name in set(beside) - set(pages)),
        more=max(len(names) - _MOST_CHANGED, 0),
        read=_believed(own[_READ]),
        is_short=own[_NEEDED] is not None,
    )


def _believed(report: FolderFile | None) -> Sequence[str] | None:
    """The paths that a report names; None for what is no report: code may write anything there."""
    if report is None or report.content is None:
        return None
    try:
        return msgspec.json.decode(report.content, type=list[str])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _lost(copy: _Copy, left: _Left) -> list[str]:
    """The pages that the code deleted or emptied, in order."""
    lost = set(left.removed)
    for found in left.found:
        page = copy.pages.get(found.name)
        if page is not None and found.content is not None:
            kept = len(found.content.strip())
            lost |= {found.name} if kept * _EMPTIED < len(page.text.strip().encode()) else set()
    return sorted(lost)


def _loses(lost: Sequence[str]) -> str:
    lines = [f"- {path}" for path in lost[:_LISTED]]
    lines += [f"- … and {len(lost) - _LISTED:,} more"] if len(lost) > _LISTED else []
    return _LOSES.format(count=len(lost), pages="\n".join(lines))


def _key(copy: _Copy, lost: Sequence[str]) -> str:
    shown = json.dumps([[path, copy.pages[path].version] for path in lost])
    return hashlib.sha256(shown.encode()).hexdigest()[:32]
