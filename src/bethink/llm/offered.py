"""The models that a run may wish for, by name. `app` makes it, `agent/start` asks, doors list."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from bethink.errors import BadInput, UnknownId
from bethink.llm.capabilities import Learnt
from bethink.llm.providers import split_spec
from bethink.llm.settled import connect_one

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.llm import Llm
    from bethink.settings import Settings


class Models:
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
