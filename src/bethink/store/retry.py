"""Optimistic updates: read, decide, commit with `if_version`; read again if another writer came between."""

from __future__ import annotations

import asyncio
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from bethink.errors import Conflict

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

P = ParamSpec("P")
T = TypeVar("T")

_TRIES = 20
"""Two processes that change one record as fast as they can lose five races in a row now and then."""
_PAUSE_S = 0.001
"""Each pause is longer by this than the one before."""


def retry_conflicts(update: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """The same function, called again while it raises `Conflict`; the last one is raised.

    Each call must read afresh, and do nothing after its commit that may raise `Conflict`. A subclass of
    `Conflict` says that trying again is of no use, and is raised at once.
    """

    @wraps(update)
    async def repeated(*args: P.args, **kwargs: P.kwargs) -> T:
        for lost in range(1, _TRIES):
            try:
                return await update(*args, **kwargs)
            except Conflict as error:
                if type(error) is not Conflict:
                    raise
            await asyncio.sleep(lost * _PAUSE_S)
        return await update(*args, **kwargs)

    return repeated
