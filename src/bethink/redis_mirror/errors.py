"""Redis's errors as ours, each with what to do. `store.redis` calls it at its edge."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bethink.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Generator

_FULL = "Redis is full (maxmemory): give it more, or remove what is not needed there."
_IN_PIPELINE = " of pipeline caused error: "
"""Behind it stands what Redis said, before it the command with what was to be written."""
_EVAL = re.compile(r"['`]eval['`]", re.IGNORECASE)
"""In a refusal, the name of the command itself: an error inside of a script names the script."""


class RefusedByRedis(StorageError):
    """Redis answers, and does not do what it was asked."""


class ScriptsRefused(RefusedByRedis):
    """Redis runs no scripts for this user, or has them switched off."""


class AnotherKind(RefusedByRedis):
    """What stands under a key is not of the kind that the schema has there."""


@contextmanager
def translated() -> Generator[None]:
    """Redis's errors as ours, each with what to do."""
    from redis import exceptions as errors

    try:
        yield
    except errors.AuthenticationError as error:
        raise StorageError(f"Redis refused the name or password in BETHINK_REDIS_URL ({error}).") from error
    except errors.OutOfMemoryError as error:
        raise RefusedByRedis(_FULL) from error
    except errors.ReadOnlyError as error:
        raise RefusedByRedis("This Redis is a replica and takes no writes: name the primary.") from error
    except errors.ResponseError as error:
        raise _refusal(str(error).rpartition(_IN_PIPELINE)[2]) from error
    except (errors.RedisError, OSError) as error:
        raise StorageError(f"Redis cannot be reached: {_sentence(error)}") from error


def _sentence(error: Exception) -> str:
    return f"{str(error).rstrip('.') or type(error).__name__}."


def _refusal(told: str) -> RefusedByRedis:
    if "OOM" in told:
        return RefusedByRedis(_FULL)
    if "MISCONF" in told:
        return RefusedByRedis(f"Redis cannot save to its disk, and takes no writes until it can: {told}")
    if "WRONGTYPE" in told:
        message = (
            "Another program keeps something else under `conversation:…` or `conversations:list` in this "
            "Redis: name another database, such as redis://host/1."
        )
        return AnotherKind(message)
    if _EVAL.search(told):
        return ScriptsRefused(f"Redis refused: {told}")
    return RefusedByRedis(f"Redis refused: {told}")
