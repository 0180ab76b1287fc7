"""Archives that mean harm, or are damaged, do none: they are refused, or read as far as they can be."""

from __future__ import annotations

import json
import struct
import zipfile
from itertools import cycle
from math import isfinite
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.errors import BadInput, TooLarge
from bethink.importing import archive as archives
from bethink.importing import archive as zips
from bethink.importing import json_stream as streaming
from bethink.importing.archive import Archive, opened, safe_name
from bethink.importing.items import Skipped
from bethink.importing.json_stream import RepairedJson, elements
from bethink.importing.records import ImportOptions
from tests.exports import asked_and_answered, packed, zipped
from tests.house import open_house

pytestmark = pytest.mark.anyio
TALKS = ImportOptions(topics="none", into="conversations")
GOOD = [asked_and_answered("Good", "Question", "Answer")]


def why_left(archive: Archive) -> dict[str, str]:
    return {left.name: left.why for left in archive.left}


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../up.md", "a/../../up.md", "C:\\boot.ini", "\\\\host\\share", "", ".", "a\0b"]
)
@pytest.mark.requirement("R118", "R184")
def test_a_name_that_leads_out_is_no_name(name: str) -> None:
    assert safe_name(name) is None


@pytest.mark.requirement("R118")
def test_names_that_lead_out_links_and_doubles_are_left_and_told(tmp_path: Path) -> None:
    path = tmp_path / "evil.zip"
    link = zipfile.ZipInfo("link.md")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("../../outside.md", "no")
        file.writestr("/absolute.md", "no")
        file.writestr("same.md", "first")
        file.writestr("./same.md", "second")
        file.writestr(link, "/etc/passwd")
        file.writestr("a\\..\\..\\b.md", "no")
    with opened(path) as archive:
        assert list(archive.members) == ["same.md"]
        assert len(archive.left) == 5
        assert "link" in why_left(archive)["link.md"].lower()


def test_a_folders_links_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("secret")
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("mine")
    (folder / "b.md").symlink_to(secret)
    (folder / "up").symlink_to(tmp_path)
    with opened(folder) as archive:
        assert list(archive.members) == ["a.md"]
        assert {*why_left(archive)} == {"b.md", "up"}


async def test_a_bomb_is_stopped_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zips, "FREE", 500_000)
    bomb = b"[" + b'{"title": "One of very many"},' * 50_000
    path = zipped(tmp_path / "bomb.zip", {"conversations.json": bomb})
    assert path.stat().st_size < len(bomb) // 250
    async with open_house(data_dir=tmp_path / "data") as house:
        with pytest.raises(TooLarge, match="no export does"):
            await house.app.importing.preview(
                house.me, path, ImportOptions("chatgpt", "conversations", "none")
            )


def test_what_an_archive_claims_of_its_size_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zips, "MAX_TOTAL", 1000)
    path = zipped(tmp_path / "a.zip", {"a.md": "x" * 900, "b.md": "y" * 900})
    with opened(path) as archive:
        assert archive.content("a.md", 10_000) is not None
        with pytest.raises(TooLarge):
            archive.content("b.md", 10_000)


def test_zips_in_zips_are_read_to_a_depth_and_counted(tmp_path: Path) -> None:
    inner = packed({"deep.md": "# Deep"})
    for _ in range(4):
        inner = packed({"more.zip": inner, "here.md": "# Here"})
    (tmp_path / "nested.zip").write_bytes(inner)
    with opened(tmp_path / "nested.zip") as archive:
        assert "here.md" in archive.members
        assert "deep.md" not in archive.members


def test_more_members_than_an_export_has_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_MEMBERS", 3)
    path = zipped(tmp_path / "many.zip", {f"{n}.md": "" for n in range(5)})
    with pytest.raises(BadInput, match="more than 3 files"), opened(path):
        pass


def test_an_encrypted_member_says_what_to_do(tmp_path: Path) -> None:
    path = zipped(tmp_path / "locked.zip", {"conversations.json": json.dumps(GOOD)})
    content = bytearray(path.read_bytes())
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = content.index(mark) + place
        content[at : at + 2] = struct.pack("<H", 1)
    path.write_bytes(content)
    with opened(path) as archive:
        assert archive.members == {}
        assert "password" in why_left(archive)["conversations.json"]


@pytest.mark.parametrize("kept", [0.3, 0.9, 0.99])
async def test_a_zip_that_breaks_off_is_told_as_that(tmp_path: Path, kept: float) -> None:
    path = zipped(tmp_path / "export.zip", {"conversations.json": json.dumps(GOOD * 50)})
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * kept)])
    async with open_house(data_dir=tmp_path / "data") as house:
        with pytest.raises(BadInput):
            await house.app.importing.preview(house.me, path, TALKS)


async def test_a_damaged_member_is_told_and_nothing_is_raised(tmp_path: Path) -> None:
    path = zipped(tmp_path / "export.zip", {"conversations.json": json.dumps(GOOD), "users.json": "[]"})
    content = bytearray(path.read_bytes())
    content[60:70] = b"\xff" * 10
    path.write_bytes(content)
    async with open_house(data_dir=tmp_path / "data") as house:
        done = await house.app.importing.preview(
            house.me, path, ImportOptions("chatgpt", "conversations", "none")
        )
        assert done.preview is not None
        assert any(
            "damaged" in problem.why or "ends early" in problem.why for problem in done.preview.problems
        )


async def test_a_damaged_list_of_file_names_does_not_end_the_reading(tmp_path: Path) -> None:
    names = "conversation_asset_file_names.json"
    path = zipped(tmp_path / "export.zip", {names: '{"file-1": "photo.png"}' * 9, "conversations.json": GOOD})
    content = bytearray(path.read_bytes())
    start = content.index(names.encode()) + len(names)
    content[start : start + 8] = b"\xff" * 8
    path.write_bytes(content)
    async with open_house(data_dir=tmp_path / "data") as house:
        done = await house.app.importing.preview(
            house.me, path, ImportOptions("chatgpt", "conversations", "none")
        )
        assert done.preview is not None
        assert done.preview.conversations.new == len(GOOD)


class _Bytes:
    def __init__(self, content: bytes) -> None:
        self._content = content

    def read(self, size: int = -1) -> bytes:
        part, self._content = self._content[:size], self._content[size:]
        return part


def test_what_nests_too_deeply_is_passed_over() -> None:
    deep = "[" * 100_000 + "]" * 100_000
    text = f'[{{"title":"Deep","x":{deep}}},{{"title":"Flat"}}]'
    first, second = elements(_Bytes(text.encode()))
    assert isinstance(first, Skipped)
    assert first.name == "Deep"
    assert second == {"title": "Flat"}


def test_one_that_is_too_long_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "MAX_ITEM_CHARS", 1000)
    long = {"title": "Long", "mapping": {str(n): "x" * 100 for n in range(50)}}
    found = list(elements(_Bytes(json.dumps([long, {"title": "Short"}]).encode())))
    assert isinstance(found[0], Skipped)
    assert found[0].name == "Long"
    assert found[1] == {"title": "Short"}


def test_a_text_without_an_end_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "_MAX_QUIET", 1_000_000)
    (found,) = elements(_Bytes(b'["' + b"a" * 3_000_000 + b'"]'))
    assert isinstance(found, Skipped)
    assert "1 MB" in found.why


@pytest.mark.parametrize(
    "content",
    [b"", b"null", b"17", b"{", b"[1, 2", b"[}", b'{"a": [}', b"\xff\xfe", b'["\\ud800"]', b"[1e999999]"],
)
def test_no_json_at_all_is_told_and_never_raised(content: bytes) -> None:
    assert all(isinstance(found, Skipped) for found in elements(_Bytes(content)))


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6, 7, 11, 12, 13, 64, 1_000_000])
def test_half_of_a_character_ends_no_reading(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "_BUFFER", size)
    said = r"cut \ud83d, \udc00 and \uDBFF\u0041 \\ud83d \\\ud83d whole \ud83d\ude00 \\"
    found = list(elements(_Bytes(f'[{{"title":"{said}"}},{{"title":"Next"}}]'.encode())))
    assert found == [
        {"title": "cut \ufffd, \ufffd and \ufffdA \\ud83d \\\ufffd whole \U0001f600 \\"},
        {"title": "Next"},
    ]


@pytest.mark.parametrize("place", [2**64 - 1, 2**63, 2**62])
def test_a_directory_that_would_lie_where_no_file_reaches_is_told_as_damage(
    tmp_path: Path, place: int
) -> None:
    content = packed({"a.md": "# A"})
    end = content.rindex(b"PK\x05\x06")
    locator = b"PK\x06\x07" + struct.pack("<LQL", 0, place, 1)
    (tmp_path / "far.zip").write_bytes(
        content[:end] + locator + content[end : end + 8] + b"\xff" * 12 + content[end + 20 :]
    )
    with pytest.raises(BadInput, match="not a complete zip"), opened(tmp_path / "far.zip"):
        pass


def test_a_member_whose_name_begins_with_nul_is_left_and_the_others_are_read(tmp_path: Path) -> None:
    content = packed({"Zz.md": "nameless", "a.md": "# A"})
    (tmp_path / "nameless.zip").write_bytes(content.replace(b"Zz.md", b"\0z.md"))
    with opened(tmp_path / "nameless.zip") as archive:
        assert list(archive.members) == ["a.md"]
        assert "none" in why_left(archive)[""]


async def test_what_is_nothing_known_is_refused_in_words(tmp_path: Path) -> None:
    path = zipped(tmp_path / "photos.zip", {"a.jpg": b"\xff"})
    async with open_house(data_dir=tmp_path / "data") as house:
        with pytest.raises(BadInput, match="not a known export"):
            await house.app.importing.preview(house.me, path, TALKS)
        with pytest.raises(BadInput, match="cannot be read"):
            await house.app.importing.preview(house.me, tmp_path / "nothing.zip", TALKS)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.requirement("R118")
def test_a_number_that_json_has_not_costs_its_own_conversation_alone(number: str) -> None:
    talks = [
        '{"title": "NaN, \\"NaN\\" and -Infinity", "n": 1}',
        f'{{"title": "Bad", "deep": [{{"create_time": {number}}}]}}',
        number,
        '{"title": "Next"}',
    ]
    first, bad, worse, last = elements(_Bytes(f"[{', '.join(talks)}]".encode()))
    assert isinstance(first, dict)
    assert first["title"] == 'NaN, "NaN" and -Infinity'
    assert isinstance(bad, Skipped)
    assert (bad.name, "NaN" in bad.why) == ("Bad", True)
    assert isinstance(worse, Skipped)
    assert last == {"title": "Next"}


SAID = st.text('\\"aNInfityu0d8,- é', max_size=30)
NUMBERS = st.sampled_from([float("nan"), float("inf"), float("-inf"), 1.5, None])
VALUES = st.lists(st.dictionaries(SAID, SAID | NUMBERS, max_size=4), max_size=4)


@given(value=VALUES, sizes=st.lists(st.integers(1, 40), min_size=1, max_size=20), is_ascii=st.booleans())
def test_numbers_that_json_has_not_are_told_from_words_wherever_a_part_ends(
    *, value: list[dict[str, object]], sizes: list[int], is_ascii: bool
) -> None:
    mended = RepairedJson(_Bytes(json.dumps(value, ensure_ascii=is_ascii).encode()))
    turn = cycle(sizes)
    read = b"".join(iter(lambda: mended.read(next(turn)), b""))
    wanted = [
        {key: one if not isinstance(one, float) or isfinite(one) else "\ufdd0" for key, one in talk.items()}
        for talk in value
    ]
    assert json.loads(read) == wanted
