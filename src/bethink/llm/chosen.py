"""The models of errands: the usual one, one that is named, or one that is found on this machine.

`app` makes it, `agent/subagent` asks it, `/health` and `doctor` tell what it would take.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Final

from bethink.errors import NoModel
from bethink.llm.probing import MODEL_MISSING
from bethink.llm.settled import connect_one, spoken

if TYPE_CHECKING:
    from bethink.llm import Llm
    from bethink.llm.offered import Models
    from bethink.llm.probing import Probing
    from bethink.llm.settled import Way
    from bethink.settings import Settings

AUTO: Final = "auto"
"""The usual model where one is set, else one that is found. What is set is never passed over."""


class Chosen:
    """Finds the model that an errand wants; it is connected on first use."""

    def __init__(self, settings: Settings, models: Models, probing: Probing) -> None:
        self.probing = probing
        self._settings = settings
        self._models = models
        self._connected: dict[tuple[str, str | None, Way], Llm] = {}

    async def find(self, wanted: str = AUTO, way: Way = "auto") -> Llm:
        """The model: `provider:name`, or `auto`; `way` is how it is told of tools.

        Raises:
            NoModel: none is set and none is found; the sentence says how to get one.
            BadInput: the name is not `provider:name`, or its provider is unknown.
        """
        if wanted not in {AUTO, ""}:
            return self._connect(wanted, None, way)
        if (usual := self._models.usual) is not None:
            return usual if way == "auto" else spoken(usual, way)
        if (found := await self.probing.find()) is None:
            raise NoModel(MODEL_MISSING)
        return self._connect(found.spec, found.base_url, way)

    def told(self, wanted: str = AUTO) -> str:
        """Which model would be taken, in words; nothing is asked."""
        if wanted not in {AUTO, ""}:
            return wanted
        return self._models.usual.name if self._models.usual is not None else self.probing.told

    def _connect(self, spec: str, base_url: str | None, way: Way) -> Llm:
        key = (spec, base_url, way)
        if key not in self._connected:
            self._connected[key] = connect_one(
                self._settings, spec, self._models.learnt, base_url=base_url, way=way
            )
        return self._connected[key]

    async def close(self) -> None:
        """Close what was connected here, whatever one of them says."""
        async with AsyncExitStack() as stack:
            for model in self._connected.values():
                stack.push_async_callback(model.close)
