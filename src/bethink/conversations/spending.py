"""What a conversation's requests to models cost together, by job. The recorder and other jobs add to it.

The sums stand on the conversation's record and are written in the commit that
writes a job's usage on its message: both are kept, or neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bethink.conversations.records import Spending

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bethink.conversations.records import Conversation
    from bethink.events import Usage


def charged(held: Conversation, usage: Iterable[Usage]) -> Conversation:
    """The record with these requests added to its sums."""
    sums = {one.job: one for one in held.spent}
    for used in usage:
        one = sums.get(used.job) or Spending(job=used.job)
        cost = used.cost_usd
        sums[used.job] = msgspec.structs.replace(
            one,
            requests=one.requests + 1,
            input_tokens=one.input_tokens + used.input_tokens,
            output_tokens=one.output_tokens + used.output_tokens,
            cost_usd=one.cost_usd if cost is None else (one.cost_usd or 0.0) + cost,
            estimated=one.estimated or used.estimated,
        )
    return msgspec.structs.replace(held, spent=tuple(sums.values()))
