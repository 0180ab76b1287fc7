"""A history that ends in calls which the client was left with: stored so that its results go on there.

The client holds the history, so the run that left it the calls may be long gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bethink.agent.records import RUNS, Run
from bethink.conversations import MESSAGES, Conversation, StoredMessage
from bethink.errors import BadInput
from bethink.messages import AssistantMessage, UserMessage
from bethink.store import Put

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.store import Change


def left_to_client(stored: Sequence[StoredMessage], held: Conversation, process: str) -> list[Change]:
    """The changes by which the last message is one that left its calls to the client.

    Raises:
        BadInput: it asks for no call, so that nothing can be their result.
    """
    last = stored[-1] if stored else None
    asked = next((one for one in reversed(stored) if isinstance(one.message, UserMessage)), None)
    if last is None or asked is None or not isinstance(last.message, AssistantMessage):
        raise BadInput("Before the results of functions there must be the message that asked for them.")
    if not last.message.tool_calls:
        raise BadInput("The message before these results asks for no call (`tool_calls`).")
    run = Run(
        id=f"{last.id}-left",
        conversation=held.id,
        message=asked.id,
        process=process,
        started_at=last.at,
        state="ended",
        ended_at=last.at,
        reason="client_tools",
    )
    left = msgspec.structs.replace(last, run=run.id, stop_reason="client_tools")
    return [Put(MESSAGES, left), Put(RUNS, run)]
