"""`GET /vault/changes`: what became of pages since, told once, or as it happens to who asks for a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import anyio
from fastapi import APIRouter, Header, Query, Response

from bethink.vault.files.records import TROUBLES
from bethink.web.deps import Caller, Served
from bethink.web.problems import documented
from bethink.web.sse import EventStream
from bethink.web.vault.shapes import VaultNews, record_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from bethink.app import App
    from bethink.errors import BethinkError
    from bethink.principal import Principal

router = APIRouter(prefix="/vault", tags=["vault"])

LOOK_S: Final = 2.0
"""How long what another process changed may wait: that is not heard, and looked for."""
_STREAM: Final = "text/event-stream"
_ANY_CHANGE: Final = 2**53
_RETRY: Final = b"retry: 2000\n\n"
"""Milliseconds after which a browser comes back when the stream broke off."""


@router.get(
    "/changes",
    response_model=VaultNews,
    responses={
        200: {
            "content": {
                _STREAM: {
                    "schema": {
                        "type": "object",
                        "description": "One frame. `data` is a `VaultNews` as JSON, and `[DONE]` at the end.",
                        "properties": {
                            "id": {"type": "string", "description": "Its `change`."},
                            "data": {"type": "string"},
                        },
                        "required": ["data"],
                    }
                }
            },
            "description": "What changed; with `Accept: text/event-stream` each change as it happens",
        },
        **documented(403),
    },
)
async def get_vault_changes(
    app: Served,
    caller: Caller,
    after: Annotated[int, Query(ge=0, le=_ANY_CHANGE, description="`change` of the answer before.")] = 0,
    *,
    accept: Annotated[str, Header(max_length=1_000, include_in_schema=False)] = "",
    last_event_id: Annotated[
        int | None,
        Header(ge=0, le=_ANY_CHANGE, description="The same, as a browser says it that comes back; it wins."),
    ] = None,
) -> VaultNews | Response:
    """What became of pages since: ask now and then, or for a stream, to show the vault as it is."""
    place = after if last_event_id is None else last_event_id
    if _STREAM in accept:
        return EventStream(follow(app, caller, place), NewsFrames())
    return await news_since(app, caller, place)


async def news_since(app: App, caller: Principal, after: int) -> VaultNews:
    """What became of the pages that the caller sees, after the change of this number."""
    change, records = await app.visibility.views.changed_since(caller, after)
    there = {record.path: record for record in records if record.state != "gone"}
    gone = [record.path for record in records if record.state == "gone" and record.path not in there]
    return VaultNews(
        items=[
            record_of(record, None if record.trouble is None else TROUBLES[record.trouble])
            for record in there.values()
        ],
        gone=gone,
        change=change,
    )


async def follow(app: App, caller: Principal, after: int) -> AsyncGenerator[Sequence[VaultNews], None]:
    """The news since, at once, even if there are none; then each as it comes, until the process stops."""
    news = app.vault.news
    is_first = True
    while True:
        with news.listening(caller.owner) as heard:
            told = await news_since(app, caller, after)
            if is_first or told.items or told.gone:
                yield [told]
            elif news.is_over:
                return
            else:
                with anyio.move_on_after(LOOK_S):
                    await heard.wait()
        after, is_first = told.change, False


class NewsFrames:
    """News as they are, each with the number to go on from."""

    def written(self, batch: Sequence[VaultNews]) -> bytes:
        """A frame each."""
        return _RETRY + b"".join(
            f"id: {news.change}\ndata: {news.model_dump_json()}\n\n".encode() for news in batch
        )

    def broken(self, error: BethinkError) -> bytes:
        """A comment: who follows comes back, and is told then."""
        return b": %s\n\n" % error.code.encode()
