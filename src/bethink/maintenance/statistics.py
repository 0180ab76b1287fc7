"""What a feature holds in numbers. The command line and the web door ask."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bethink.feature import Features
    from bethink.principal import Principal
    from bethink.recall.service import Recall


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts for all owners; every call acts for one principal."""

    features: Features
    recall: Recall
    size: Callable[[], Awaitable[int]]

    async def numbers(self, principal: Principal, feature: str) -> dict[str, Any]:
        """A feature's numbers of this owner, with what all features share.

        `bytes_on_disk` is the size of the whole database, of all owners; `warning` why recall works less
        well than it should.

        Raises:
            StorageError: the database cannot be read.
        """
        return {
            **(await self.features.statistics(principal))[feature],
            "bytes_on_disk": await self.size(),
            "warning": self.recall.warning,
        }
