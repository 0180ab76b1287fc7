"""What was said and made, as forgetting reaches it: runs, their files, where code worked. `app` makes it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from bethink.agent.threads import without_digests
from bethink.messages import UserMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bethink.across.importing import Importing
    from bethink.across.passages import Passages
    from bethink.across.traces import Found
    from bethink.agent.runs import Runs
    from bethink.files import Files
    from bethink.sandbox.interpreters import Interpreters
    from bethink.store import Change


@dataclass(frozen=True, slots=True)
class Spoken:
    """Runs and their files as forgetting wants to know them; runs are made after it."""

    runs: Callable[[], Runs]
    files: Files
    interpreters: Interpreters | None
    passages: Passages
    importing: Importing

    async def write(self, owner: str) -> None:
        """See `Runs.write`."""
        await self.runs().write(owner)

    async def hush(self, owner: str) -> None:
        """See `Runs.hush`."""
        await self.runs().hush(owner)

    async def forget(self, owner: str, found: Found) -> Sequence[Change]:
        """The changes by which nothing that was said or made says it any more, nor a digest of it is left."""
        gone, runs = found.redaction, self.runs()
        saying = await self.files.forget(owner, partial(gone.says_in, close=False))
        said_in = {
            item.now.conversation
            for item in found.messages
            if isinstance(item.was.record.message, UserMessage)
        }
        digests = [
            change
            for place in sorted(said_in)
            for change in await without_digests(runs.conversations.store, owner, place)
        ]
        imports = await self.importing.forget(owner, gone)
        return [*await runs.stored.forget(owner, gone), *saying, *digests, *imports]

    async def scrub(self, owner: str) -> None:
        """Remove contents that no record names, the files of code, and what was read of any.

        Nobody can say what is in them.
        """
        self.passages.forget(owner)
        await self.files.sweep(owner)
        await self.importing.scrub(owner)
        if self.interpreters is not None:
            await self.interpreters.wipe(owner)
