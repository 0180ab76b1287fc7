"""What is made of settings and follows them: made anew when they change, put in place all at once.

`configuration` asks every part. A feature names its own (`OpenFeature.parts`), `app` those of its wiring.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from bethink.settings.fields import Settings

Switch: TypeAlias = Callable[[], Awaitable[None]]
"""Puts what was made in place."""
Part: TypeAlias = "Callable[[Settings, AbstractSet[str]], Awaitable[Switch | None]]"
"""Something made of settings: given those that shall hold and the names of what changes, it makes itself anew
and gives what puts that in place; None if nothing concerns it. Raises `BadInput` if it cannot be made."""


def after(act: Callable[[], object]) -> Part:
    """A part that acts once other settings hold; what it does cannot fail by them."""

    async def remade(wanted: Settings, changed: AbstractSet[str]) -> Switch:
        del wanted, changed

        async def switch() -> None:
            act()

        return switch

    return remade


def follows(target: object, **fields: Callable[[Settings], object]) -> Part:
    """A part whose attributes are what `fields` make of the settings.

    Raises:
        AttributeError: it has no attribute of this name.
    """
    for name in fields:
        getattr(target, name)

    async def remade(wanted: Settings, changed: AbstractSet[str]) -> Switch:
        del changed
        values = {name: of(wanted) for name, of in fields.items()}

        async def switch() -> None:
            for name, value in values.items():
                setattr(target, name, value)

        return switch

    return remade
