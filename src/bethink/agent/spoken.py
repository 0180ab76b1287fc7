"""What was said and made, as forgetting reaches it: runs, their files, where code worked. `app` makes it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bethink.across.passages import Passages
    from bethink.across.redaction import Redaction
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

    async def write(self, owner: str) -> None:
        """See `Runs.write`."""
        await self.runs().write(owner)

    async def hush(self, owner: str) -> None:
        """See `Runs.hush`."""
        await self.runs().hush(owner)

    async def forget(self, owner: str, gone: Redaction) -> Sequence[Change]:
        """The changes by which nothing that was said or made says it any more."""
        saying = await self.files.forget(owner, partial(gone.says_in, close=False))
        return [*await self.runs().stored.forget(owner, gone), *saying]

    async def scrub(self, owner: str) -> None:
        """Remove contents that no record names, the files of code, and what was read of any.

        Nobody can say what is in them.
        """
        self.passages.forget(owner)
        await self.files.sweep(owner)
        if self.interpreters is not None:
            await self.interpreters.wipe(owner)
