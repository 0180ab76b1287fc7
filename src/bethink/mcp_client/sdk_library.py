"""Resources and prompts over the SDK's client, and contents of all kinds as parts. `sdk_session` uses it."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import anyio
import anyio.to_thread
import httpx2
from mcp import Client, MCPError
from mcp.types import (
    CONNECTION_CLOSED,
    AudioContent,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from bethink.errors import McpError, McpLost
from bethink.mcp_client import (
    NamedResource,
    PromptArgument,
    PromptMessage,
    RemotePrompt,
    RemoteResource,
    ResultFile,
    Text,
)

if TYPE_CHECKING:
    from mcp.types import BlobResourceContents, ContentBlock, Prompt, Resource, ResourceTemplate

    from bethink.mcp_client import Part

T = TypeVar("T")

_PAGES = 50
_MAX_LISTED = 2_000
"""Of one list: a server that never ends it is cut off."""
_NAME_CHARS = 200
_ABOUT_CHARS = 1_000
_MAX_ARGUMENTS = 50
_URI_CHARS = 2_000
"""What is longer is no address that a model or a person would hand back."""
_BRIEF = 500


class SdkLibrary:
    """Resources and prompts of the port."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def resources(self) -> list[RemoteResource]:
        """What can be read, then the templates of addresses; see the port."""
        client = self._client
        if client.server_capabilities.resources is None:
            return []
        with answers():
            listed = await pages(client.list_resources, lambda page: page.resources)
        found = [_resource(one, one.uri, one.size) for one in listed]
        # Many servers that have no templates do not know the question.
        with suppress(McpError), answers():
            templates = await pages(client.list_resource_templates, lambda page: page.resource_templates)
            found += [_resource(one, one.uri_template, template=True) for one in templates]
        return [one for one in found if 0 < len(one.uri) <= _URI_CHARS]

    async def read(self, uri: str) -> tuple[Part, ...]:
        """The content at an address; see the port."""
        with answers():
            result = await self._client.read_resource(uri)
        return await anyio.to_thread.run_sync(lambda: tuple(map(_contents, result.contents)))

    async def prompts(self) -> list[RemotePrompt]:
        """The prompts that it offers; see the port."""
        client = self._client
        if client.server_capabilities.prompts is None:
            return []
        with answers():
            listed = await pages(client.list_prompts, lambda page: page.prompts)
        return [_prompt(one) for one in listed if 0 < len(one.name) <= _NAME_CHARS]

    async def prompt(self, name: str, arguments: dict[str, str]) -> tuple[PromptMessage, ...]:
        """A prompt with its gaps filled; see the port."""
        with answers():
            result = await self._client.get_prompt(name, arguments)
        return await anyio.to_thread.run_sync(
            lambda: tuple(PromptMessage(one.role, part_of(one.content)) for one in result.messages)
        )


class _Ask(Protocol):
    def __call__(self, *, cursor: str | None) -> Awaitable[Any]: ...


async def pages(ask: _Ask, items: Callable[[Any], list[T]]) -> list[T]:
    """All items of a list that comes page by page; one that never ends is cut off."""
    found: list[T] = []
    cursor: str | None = None
    cursors: set[str] = set()
    for _ in range(_PAGES):
        page = await ask(cursor=cursor)
        found += items(page)
        cursor = page.next_cursor
        if not cursor or cursor in cursors or len(found) >= _MAX_LISTED:
            break
        cursors.add(cursor)
    return found[:_MAX_LISTED]


@contextmanager
def answers(refusal: Callable[[], str] = str) -> Generator[None]:
    """The SDK's errors as those of the port; `refusal` tells more of why a server refuses.

    Raises:
        McpLost: the connection ended.
        McpError: the server refused, or its answer breaks the protocol.
    """
    try:
        yield
    except MCPError as error:
        if error.code == CONNECTION_CLOSED:
            raise McpLost from error
        raise McpError(f"{brief(error)}{refusal()}") from error
    except (anyio.ClosedResourceError, anyio.BrokenResourceError, httpx2.HTTPError) as error:
        raise McpLost from error
    except (RuntimeError, ValueError, ExceptionGroup) as error:
        raise McpError(f"The answer is not valid: {brief(error)}") from error


def brief(error: Exception) -> str:
    """What an error says, bounded."""
    return (str(error) or type(error).__name__)[:_BRIEF]


def _resource(
    one: Resource | ResourceTemplate, uri: str, size: int | None = None, *, template: bool = False
) -> RemoteResource:
    name, about = (one.title or one.name)[:_NAME_CHARS], (one.description or "")[:_ABOUT_CHARS]
    return RemoteResource(uri, name, about, (one.mime_type or "")[:_NAME_CHARS], size, template)


def _prompt(one: Prompt) -> RemotePrompt:
    arguments = tuple(
        PromptArgument(each.name, (each.description or each.title or "")[:_ABOUT_CHARS], bool(each.required))
        for each in (one.arguments or [])[:_MAX_ARGUMENTS]
        if 0 < len(each.name) <= _NAME_CHARS
    )
    title, about = (one.title or "")[:_NAME_CHARS], (one.description or "")[:_ABOUT_CHARS]
    return RemotePrompt(one.name, title, about, arguments)


def part_of(block: ContentBlock) -> Part:
    """A block of a result or a prompt."""
    match block:
        case TextContent():
            return Text(block.text)
        case ImageContent() | AudioContent():
            return _file("", block.mime_type, block.data)
        case ResourceLink():
            return NamedResource(
                block.uri, block.title or block.name, block.mime_type or "", block.description or ""
            )
        case EmbeddedResource():
            resource = block.resource
            if isinstance(resource, TextResourceContents):
                return Text(f"[{resource.uri}]\n{resource.text}")
            return _contents(resource)


def _contents(resource: TextResourceContents | BlobResourceContents) -> Part:
    if isinstance(resource, TextResourceContents):
        return Text(resource.text)
    name = resource.uri.rstrip("/").rpartition("/")[2]
    return _file(name, resource.mime_type or "application/octet-stream", resource.blob)


def _file(name: str, media_type: str, data: str) -> Part:
    with suppress(binascii.Error, ValueError):
        return ResultFile(name, media_type, base64.b64decode(data, validate=True))
    return Text(f"[{media_type}, which is not valid base64]")
