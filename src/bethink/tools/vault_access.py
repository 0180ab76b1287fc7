"""The vault as a call sees and changes it: what every tool of the vault goes through.

What is read is what the caller's audience may see; what is changed is a version that can be undone, is told
in the run with its undo token, and is refused where the run has just heard that it was forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bethink.errors import BadInput, JustForgotten, NoSuchPage
from bethink.events import MemoryChanged
from bethink.vault import Authorship, Change, CurrentPage, ListedFile
from bethink.vault.files.paths import checked, checked_folder

if TYPE_CHECKING:
    from bethink.principal import Principal
    from bethink.tool import ToolContext
    from bethink.vault.filters.views import VaultViews

_MOST_LINES: Final = 10
"""Of an error's list of places."""
ABSENT: Final = "There is no page {path}. list_directory shows what there is, search_files looks in it."


@dataclass(frozen=True, slots=True)
class VaultAccess:
    """Pages for tools, as a caller sees them."""

    views: VaultViews

    async def read(self, principal: Principal, path: str) -> CurrentPage:
        """A page as the principal may see it.

        Raises:
            NoSuchPage: there is none, or none for them; the sentence says how to find one.
            BadInput: the path is not safe, or the file is no UTF-8 text.
        """
        path = named(path)
        try:
            return await self.views.read(principal, path)
        except NoSuchPage as error:
            raise NoSuchPage(ABSENT.format(path=path)) from error

    async def listed(
        self, principal: Principal, folder: str = "", *, deep: bool = False
    ) -> Sequence[ListedFile]:
        """What is in a folder, as far as the principal may know of it.

        Raises:
            NoSuchPage: there is no such folder.
        """
        return await self.views.listed(principal, checked_folder(folder), deep=deep)

    async def is_untrusted(self, principal: Principal, paths: Iterable[str]) -> bool:
        """Whether any of these pages, or of those in these folders, is from outside."""
        return await self.views.vault.is_untrusted(principal.owner, paths)

    async def write(
        self,
        context: ToolContext,
        path: str,
        text: str,
        *,
        if_version: str | None = None,
        untrusted: bool = False,
    ) -> Change:
        """Have a page hold a text; see `Vault.write`.

        It is untrusted, too, where the run has read anything from outside: the text may tell it.
        """
        path = named(path)
        if context.forgotten is not None:
            await context.forgotten.listen()
            if context.forgotten.says(text):
                raise JustForgotten
        how = Authorship("agent", _note(context), untrusted or context.is_untrusted or None)
        change = await self.views.put(context.principal, path, text, if_version=if_version, how=how)
        _tell(context, change, path)
        return change

    async def replace(self, context: ToolContext, path: str, old: str, new: str) -> Change:
        """Put `new` in the place of `old`, which must stand in the page exactly once.

        Raises:
            BadInput: it does not; the sentence says how often, and where.
        """
        page = await self.read(context.principal, path)
        _check_once(page, old)
        text = page.text.replace(old, new)
        return await self.write(context, page.path, text, if_version=page.version)

    async def delete(self, context: ToolContext, path: str, *, if_version: str | None = None) -> Change:
        """Delete a page; see `Vault.delete`."""
        page = await self.read(context.principal, path)
        change = await self.views.delete(
            context.principal,
            page.path,
            if_version=if_version or page.version,
            by="agent",
            note=_note(context),
        )
        _tell(context, change, page.path)
        return change


def named(path: str) -> str:
    """The path that a model means: models put a slash or a dot before it, and leave out the ending.

    Raises:
        BadInput: it is not safe.
    """
    plain = path.strip().removeprefix("./").lstrip("/")
    last = plain.rpartition("/")[2]
    return checked(plain if "." in last or not last else f"{plain}.md")


def _check_once(page: CurrentPage, old: str) -> None:
    """Refuse a text that does not stand in a page exactly once: only then is it known which is meant."""
    if not old:
        raise BadInput("old_content is empty: give the exact text to replace, or use write_file.")
    count = page.text.count(old)
    if count == 1:
        return
    if count == 0:
        raise BadInput(
            f"old_content does not occur in {page.path}. It must be the exact text, with its line breaks and"
            " spaces: read_file shows the page as it is now."
        )
    lines: list[str] = []
    at = -1
    while (at := page.text.find(old, at + 1)) >= 0 and len(lines) < _MOST_LINES:
        lines.append(str(page.text.count("\n", 0, at) + 1))
    raise BadInput(
        f"old_content occurs {count} times in {page.path}, in the lines {', '.join(lines)}"
        f"{' and more' if count > len(lines) else ''}: give more of the text around the one that you mean."
    )


def _note(context: ToolContext) -> str:
    return f"By the agent, for {context.principal.audience}"


def _tell(context: ToolContext, change: Change, path: str) -> None:
    if change.undo is None:
        return
    kind = "retracted" if change.after is None else "added" if change.before is None else "superseded"
    context.emit(MemoryChanged(change=kind, ids=(path,), text=f"Page {path}", undo=change.undo))
