"""The first steps, and the first user of a Bethink that others reach: made with the set-up key, once."""

from __future__ import annotations

from pathlib import Path

import anyio.to_thread
import pytest

from bethink.accounts.setup_key import FILE, setup_key
from bethink.llm.scripted import ScriptedLlm
from tests.door import called
from tests.house import open_house

pytestmark = pytest.mark.anyio

PEER = "203.0.113.9"
ANN = {"name": "ann", "password": "correct horse battery"}


async def test_nothing_works_before_the_first_user_is_made_with_the_key(tmp_path: Path) -> None:
    key = await anyio.to_thread.run_sync(setup_key, tmp_path)
    assert (tmp_path / FILE).stat().st_mode & 0o077 == 0
    async with (
        open_house(data_dir=tmp_path, host="0.0.0.0") as house,  # noqa: S104 - nothing is bound
        called(house, peer=PEER) as http,
    ):
        for method, path in (
            ("GET", "/settings"),
            ("POST", "/conversations"),
            ("GET", "/users"),
            ("GET", "/keys"),
        ):
            assert (await http.request(method, path)).status_code == 401, path
        state = (await http.get("/setup")).json()
        assert (state["by_key"], state["first_user"], state["model"]) == (True, False, False)
        wrong = await http.post("/setup/user", json=ANN | {"key": "x" * len(key)})
        assert wrong.status_code == 401
        assert (await http.post("/setup/user", json=ANN)).status_code == 401
        made = await http.post("/setup/user", json=ANN | {"key": key})
        assert made.status_code == 201, made.text
        assert made.json()["user"] == {"id": "local", "name": "ann", "admin": True}
        assert (await http.get("/settings")).status_code == 200, "the browser is signed in"
        assert not (tmp_path / FILE).exists()
        http.cookies.clear()
        again = await http.post("/setup/user", json={"name": "eve", "password": "x" * 20, "key": key})
        assert again.status_code == 403
        assert (await http.get("/setup")).json()["by_key"] is False


async def test_keys_cannot_be_tried_out(tmp_path: Path) -> None:
    key = await anyio.to_thread.run_sync(setup_key, tmp_path)
    async with (
        open_house(data_dir=tmp_path, public_urls=["https://bethink.example"]) as house,
        called(house, peer=PEER) as http,
    ):
        tried = [(await http.post("/setup/user", json=ANN | {"key": f"{n}"})).status_code for n in range(6)]
        assert tried == [401] * 5 + [429]
        assert (await http.post("/setup/user", json=ANN | {"key": key})).status_code == 429


async def test_the_owner_at_this_machine_makes_the_first_user_without_a_key(tmp_path: Path) -> None:
    async with open_house(ScriptedLlm(["Hello"]), data_dir=tmp_path) as house, called(house) as http:
        state = (await http.get("/setup")).json()
        assert state == {
            "model": True,
            "history": False,
            "about": False,
            "dismissed": False,
            "first_user": False,
            "by_key": False,
        }
        await http.post("/memories", json={"content": "Ann lives in Paris."})
        assert (await http.post("/setup", json={"dismissed": True})).json()["dismissed"] is True
        assert (await http.post("/setup/user", json=ANN)).status_code == 201
        state = (await http.get("/setup")).json()
        assert (state["about"], state["dismissed"], state["first_user"]) == (True, True, True)
        http.cookies.clear()
        assert (await http.get("/settings")).status_code == 401


async def test_the_operator_may_bring_a_key_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("a key that the operator made\n")
    async with (
        open_house(data_dir=tmp_path, host="0.0.0.0", setup_key_file=file) as house,  # noqa: S104 - nothing is bound
        called(house, peer=PEER) as http,
    ):
        made = await http.post("/setup/user", json=ANN | {"key": "a key that the operator made"})
        assert made.status_code == 201, made.text
    assert file.exists()
