"""The models beside the usual one: those that a run may ask for by name, and those of subagents.

`app` makes both; `agent/start` and `agent/subagent` ask, doors list, and `/health` and `doctor` say what
would be taken.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Final

from bethink.errors import BadInput, NoModel, UnknownId
from bethink.llm.capabilities import Learnt
from bethink.llm.factory import connect_one, in_protocol
from bethink.llm.probing import MODEL_MISSING
from bethink.llm.providers import split_spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.llm import Llm
    from bethink.llm.factory import ToolProtocol
    from bethink.llm.probing import Probing
    from bethink.settings import Settings


AUTO: Final = "auto"
"""The usual model where one is set, else one that is found. What is set is never passed over."""


class SubagentModels:
    """Finds the model that a subagent asks; it is connected on first use."""

    def __init__(self, settings: Settings, models: OfferedModels, probing: Probing) -> None:
        self.probing = probing
        self._settings = settings
        self._models = models
        self._connected: dict[tuple[str, str | None, ToolProtocol], Llm] = {}

    async def find(self, wanted: str = AUTO, protocol: ToolProtocol = "auto") -> Llm:
        """The model: `provider:name`, or `auto`; `protocol` is how it is told of tools.

        Raises:
            NoModel: none is set and none is found; the sentence says how to get one.
            BadInput: the name is not `provider:name`, or its provider is unknown.
        """
        if wanted not in {AUTO, ""}:
            return self._connect(wanted, None, protocol)
        if (usual := self._models.usual) is not None:
            return usual if protocol == "auto" else in_protocol(usual, protocol)
        if (found := await self.probing.find()) is None:
            raise NoModel(MODEL_MISSING)
        return self._connect(found.spec, found.base_url, protocol)

    def told(self, wanted: str = AUTO) -> str:
        """Which model would be taken, in words; nothing is asked."""
        if wanted not in {AUTO, ""}:
            return wanted
        return self._models.usual.name if self._models.usual is not None else self.probing.told

    def _connect(self, spec: str, base_url: str | None, protocol: ToolProtocol) -> Llm:
        key = (spec, base_url, protocol)
        if key not in self._connected:
            self._connected[key] = connect_one(
                self._settings, spec, self._models.learnt, base_url=base_url, protocol=protocol
            )
        return self._connected[key]

    async def close(self) -> None:
        """Close what was connected here, whatever one of them says."""
        async with AsyncExitStack() as stack:
            for model in self._connected.values():
                stack.push_async_callback(model.close)


class OfferedModels:
    """The usual model, its fallbacks, and what `models_offered` names; `learnt` is known of their servers.

    Raises:
        BadInput: a name is not `provider:name`, or its provider is unknown.
    """

    def __init__(self, settings: Settings, usual: Llm | None, learnt: Learnt | None = None) -> None:
        self.usual = usual
        self.learnt = learnt or Learnt()
        self._settings = settings
        self._connected: dict[str, Llm] = {}
        wanted = (assistant.model for assistant in settings.assistants.values())
        others = (*settings.model_fallbacks, *settings.models_offered, *(name for name in wanted if name))
        for spec in others:
            split_spec(spec)
        first = () if usual is None else (usual.name,)
        self._names = tuple(dict.fromkeys((*first, *others)))

    def names(self) -> Sequence[str]:
        """`provider:name` of each, the usual one first."""
        return self._names

    def get(self, name: str | None = None) -> Llm | None:
        """The model of this name, connected on first use; without a name the usual one, if there is one.

        Raises:
            UnknownId: it is not offered.
            BadInput: its provider needs an address that no setting gives.
        """
        if name is None or (self.usual is not None and name == self.usual.name):
            return self.usual
        if name not in self._names:
            raise UnknownId(self._not_offered(name))
        if name not in self._connected:
            self._connected[name] = connect_one(self._settings, name, self.learnt)
        return self._connected[name]

    def check(self, name: str | None) -> None:
        """Refuse a model that a conversation is to have and that no run could.

        Raises:
            BadInput: it is not offered.
        """
        if name is not None and name not in self._names:
            raise BadInput(self._not_offered(name))

    def _not_offered(self, name: str) -> str:
        offered = ", ".join(self._names) or "none"
        return f"There is no model {name[:80]!r}. Offered are: {offered}."

    async def close(self) -> None:
        """Close what was connected here, whatever one of them says; the usual one is the ports'."""
        async with AsyncExitStack() as stack:
            for model in self._connected.values():
                stack.push_async_callback(model.close)
