"""A whole Bethink over files and a Redis, with a scripted model."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from bethink.app import open_app
from bethink.clock import FakeClock
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.llm import Llm
from bethink.llm.scripted import ScriptedLlm
from bethink.ports import open_ports
from bethink.redis_mirror.service import RedisMirror
from bethink.settings import Settings
from tests.house import House


@asynccontextmanager
async def shared_house(
    directory: Path, url: str | None, llm: Llm | None = None, **settings: object
) -> AsyncGenerator[House]:
    """The app of a data directory whose conversations are in the Redis at `url`."""
    given = Settings.model_validate(
        {
            "data_dir": directory,
            "redis_url": url,
            "code_enabled": False,
            "web_enabled": False,
            "extraction": "off",
            **settings,
        }
    )
    llm = llm or ScriptedLlm(["Hello to you."] * 50)
    async with (
        open_ports(given) as ports,
        open_app(given, replace(ports, embeddings=HashingEmbeddings(), llm=llm)) as app,
    ):
        yield House(app, await app.accounts.authenticate(audience="test"), FakeClock())


def sharing_of(house: House) -> RedisMirror:
    assert house.app.sharing
    return house.app.sharing
