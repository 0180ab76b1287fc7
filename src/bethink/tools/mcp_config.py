"""What outlives the process of MCP servers: accepted definitions, and the tokens of signed-in ones, sealed.

`app` gives it to `mcp_client`. Servers belong to the machine, not to a person:
what is kept of them stands under the local owner.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bethink.mcp_client import Pinned
from bethink.principal import LOCAL_OWNER
from bethink.store import Collection, Delete, Put, Record

if TYPE_CHECKING:
    from bethink.secrets_at_rest import SecretBox
    from bethink.store import Store


class PinnedTools(Record, frozen=True, kw_only=True):
    """The accepted definitions of one server's tools."""

    pinned: Pinned


class SealedTokens(Record, frozen=True, kw_only=True):
    """One server's tokens, unreadable without the master key."""

    sealed: bytes


PINS = Collection("meta", PinnedTools, searchable=False)
TOKENS = Collection("meta", SealedTokens, searchable=False)


@dataclass(frozen=True, slots=True)
class McpKeeping:
    """Keeping in the store."""

    store: Store
    keeper: SecretBox

    async def pinned(self, server: str) -> Pinned | None:
        """The accepted definitions; None where the server was never seen."""
        (found,) = await self.store.get(PINS, LOCAL_OWNER, [f"mcp-pins:{server}"])
        return found.record.pinned if found else None

    async def pin(self, server: str, pinned: Pinned) -> None:
        """Keep the accepted definitions."""
        record = PinnedTools(id=f"mcp-pins:{server}", pinned=pinned)
        await self.store.commit(LOCAL_OWNER, [Put(PINS, record)])

    async def secret(self, server: str) -> str | None:
        """What `keep_secret` kept.

        Raises:
            StorageError: it was sealed with another key.
        """
        (found,) = await self.store.get(TOKENS, LOCAL_OWNER, [f"mcp-tokens:{server}"])
        return await self.keeper.open(found.record.sealed) if found else None

    async def keep_secret(self, server: str, secret: str | None) -> None:
        """Keep a text sealed; None forgets it."""
        id = f"mcp-tokens:{server}"
        change = (
            Delete(TOKENS, id)
            if secret is None
            else Put(TOKENS, SealedTokens(id=id, sealed=await self.keeper.seal(secret)))
        )
        await self.store.commit(LOCAL_OWNER, [change])
