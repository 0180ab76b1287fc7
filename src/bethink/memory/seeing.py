"""Facts as those may see them who read and change them. `service` asks, and `writing` for `gate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from bethink.memory.facts import Fact, Source
    from bethink.principal import Principal


class FactFilter(Protocol):
    """What somebody sees of facts who may not see all."""

    def fact(self, fact: Fact) -> Fact | None:
        """A fact as they see it; None where it is hidden from them."""
        ...

    def signed(self, source: Source) -> Source:
        """A source that says whose words they are: what they wrote is told them as they wrote it."""
        ...


class FactFilterOf(Protocol):
    """What a principal sees of facts, None for who sees all; `app` wires the vault's filters."""

    async def __call__(self, principal: Principal) -> FactFilter | None:
        """Their sight."""
        ...


async def sees_all(principal: Principal) -> None:
    """For a memory of which nothing is hidden from anybody."""
    del principal
