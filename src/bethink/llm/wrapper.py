"""A model inside another protocol: what it is called and can do stays its own. For `routed` and `tagged`."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from bethink.llm import Llm


class LlmWrapper:
    """All of `Llm` but the stream. `new_id` names calls of tools."""

    def __init__(self, inner: Llm, *, new_id: Callable[[], str] = lambda: uuid.uuid4().hex) -> None:
        self._inner = inner
        self._new_id = new_id

    @property
    def name(self) -> str:
        """The model's own."""
        return self._inner.name

    @property
    def context_tokens(self) -> int:
        """The model's own."""
        return self._inner.context_tokens

    @property
    def sees(self) -> bool:
        """Whether the model does."""
        return self._inner.sees

    async def learn(self) -> None:
        """See `Llm.learn`."""
        await self._inner.learn()

    async def probe(self) -> str | None:
        """See `Llm.probe`."""
        return await self._inner.probe()

    async def close(self) -> None:
        """Close the model."""
        await self._inner.close()
