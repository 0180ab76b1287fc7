"""Secrets as they are kept: unreadable without the key, and told so."""

from __future__ import annotations

import base64
from pathlib import Path

import anyio
import pytest

from bethink.errors import BadInput, StorageError
from bethink.secrets_at_rest import FILE, SecretBox

pytestmark = pytest.mark.anyio

SECRET = "4111 1111 1111 1111"


async def test_what_is_sealed_is_read_with_the_same_key_and_is_never_the_same_twice(tmp_path: Path) -> None:
    one, other = SecretBox(tmp_path), SecretBox(tmp_path)
    sealed = await one.seal(SECRET)
    assert SECRET.encode() not in sealed
    assert await other.open(sealed) == SECRET
    assert await one.seal(SECRET) != sealed
    assert modes_in(tmp_path) == {FILE: 0o600}


def modes_in(directory: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in directory.iterdir()}


async def test_another_key_or_a_changed_text_is_told(tmp_path: Path) -> None:
    sealed = await SecretBox(tmp_path / "a").seal(SECRET)
    with pytest.raises(StorageError, match="another master key"):
        await SecretBox(tmp_path / "b").open(sealed)
    with pytest.raises(StorageError, match="another master key"):
        await SecretBox(tmp_path / "a").open(sealed[:-1] + bytes([sealed[-1] ^ 1]))
    with pytest.raises(StorageError, match="another master key"):
        await SecretBox(tmp_path / "a").open(b"")


@pytest.mark.parametrize("given", [base64.b64encode(bytes(range(32))).decode(), "a long enough passphrase"])
async def test_a_given_key_needs_no_file(tmp_path: Path, given: str) -> None:
    sealed = await SecretBox(tmp_path, given).seal(SECRET)
    assert await SecretBox(tmp_path, given).open(sealed) == SECRET
    assert modes_in(tmp_path) == {}


async def test_a_short_key_and_a_damaged_file_are_told(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="too short"):
        await SecretBox(tmp_path, "short").seal(SECRET)
    await anyio.Path(tmp_path / FILE).write_text("not a key")
    with pytest.raises(StorageError, match="damaged"):
        await SecretBox(tmp_path).seal(SECRET)


async def test_a_digest_is_the_same_for_one_key_alone(tmp_path: Path) -> None:
    one, other = SecretBox(tmp_path / "a"), SecretBox(tmp_path / "b")
    digest = await one.digest(SECRET)
    assert digest == await SecretBox(tmp_path / "a").digest(SECRET)
    assert len({digest, await other.digest(SECRET), await one.digest("else")}) == 3
