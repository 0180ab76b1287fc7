"""What a feature holds in numbers. The command line and the web door ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio.to_thread

if TYPE_CHECKING:
    from pathlib import Path

    from bethink.feature import Features
    from bethink.principal import Principal
    from bethink.recall.service import Recall

_DATABASE = "bethink.sqlite3*"


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts for all owners; every call acts for one principal."""

    features: Features
    recall: Recall
    data_dir: Path

    async def numbers(self, principal: Principal, feature: str) -> dict[str, Any]:
        """A feature's numbers of this owner, with what all features share.

        `bytes_on_disk` is the size of the whole database, of all owners; `warning` why recall works less
        well than it should.
        """
        return {
            **(await self.features.statistics(principal))[feature],
            "bytes_on_disk": await anyio.to_thread.run_sync(self._bytes),
            "warning": self.recall.warning,
        }

    def _bytes(self) -> int:
        return sum(file.stat().st_size for file in self.data_dir.glob(_DATABASE))
