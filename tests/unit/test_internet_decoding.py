"""Bytes that claim to be one thing and are another, and what sites ask of programs."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.errors import WebError
from bethink.internet.decoder import decoded, decompressed, visible
from bethink.internet.robots import parse

LIMIT = 100_000


@pytest.mark.parametrize(
    ("content", "charset"),
    [
        ("Grüße aus Köln".encode(), "utf-8"),
        ("Grüße aus Köln".encode(), "iso-8859-1"),
        ("Grüße aus Köln".encode("latin-1"), "iso-8859-1"),
        ("Grüße aus Köln".encode("latin-1"), "utf-8"),
        ("Grüße aus Köln".encode("latin-1"), None),
        ("Grüße aus Köln".encode("latin-1"), "no-such-charset"),
        ("Grüße aus Köln".encode("utf-16"), None),
        ("Grüße aus Köln".encode("utf-16-le"), "utf-16-le"),
        ("Grüße aus Köln".encode("utf-8-sig"), "latin-1"),
        ("Grüße aus Köln".encode("latin-1"), "zlib"),
        ("Grüße aus Köln".encode("latin-1"), "punycode"),
    ],
)
def test_a_text_is_read_whatever_its_server_says_of_it(content: bytes, charset: str | None) -> None:
    assert decoded(content, charset) == "Grüße aus Köln"


def test_a_page_says_itself_how_it_is_written() -> None:
    russian = '<html><head><meta charset="windows-1251"></head>Москва'
    assert "Москва" in decoded(russian.encode("cp1251"), None)
    japanese = '<meta http-equiv="Content-Type" content="text/html; charset=iso-2022-jp">東京'
    assert "東京" in decoded(japanese.encode("iso-2022-jp"), None)


@given(st.binary(max_size=2_000), st.none() | st.text(max_size=20))
def test_no_bytes_and_no_charset_can_break_it(content: bytes, charset: str | None) -> None:
    decoded(content, charset).encode()


def test_characters_that_nobody_sees_are_gone() -> None:
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
    assert visible(f"tide\u200b at{hidden} six\u202e\x1b\r\nnext\ttab") == "tide at six\nnext\ttab"


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "deflate", "", "identity"])
def test_packed_bodies_are_unpacked(encoding: str) -> None:
    packed = {"gzip": gzip.compress, "x-gzip": gzip.compress, "deflate": zlib.compress}
    content = packed.get(encoding, bytes)(b"the tide")
    assert decompressed(content, encoding, LIMIT) == b"the tide"


def test_deflate_without_its_header_is_unpacked() -> None:
    packing = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    assert decompressed(packing.compress(b"the tide") + packing.flush(), "deflate", LIMIT) == b"the tide"


def test_a_bomb_is_refused_after_the_limit() -> None:
    with pytest.raises(WebError, match="larger than 100,000 bytes"):
        decompressed(gzip.compress(b"\0" * 50_000_000), "gzip", LIMIT)


def test_a_damaged_body_is_an_answer_of_its_own() -> None:
    with pytest.raises(WebError, match="damaged"):
        decompressed(b"no gzip at all", "gzip", LIMIT)


ROBOTS = """
User-agent: *
Disallow: /private
Allow: /private/open
Disallow: /*.pdf$
Disallow: /search*q=

User-agent: Other
User-agent: bethink   # us
Disallow: /only-for-others
Allow: /
"""


@pytest.mark.parametrize(
    ("product", "path", "allowed"),
    [
        ("Someone", "/", True),
        ("Someone", "/private/x", False),
        ("Someone", "/private/open/x", True),
        ("Someone", "/%70rivate/x", False),
        ("Someone", "/file.pdf", False),
        ("Someone", "/file.pdf?x", True),
        ("Someone", "/search?a=1&q=tide", False),
        ("Bethink", "/private/x", True),
        ("Bethink", "/only-for-others", False),
    ],
)
def test_robots_rules_hold_as_their_standard_says(product: str, path: str, *, allowed: bool) -> None:
    assert parse(ROBOTS).can_fetch(f"https://site.example{path}", product) is allowed


def test_an_empty_disallow_allows_everything() -> None:
    assert parse("User-agent: *\nDisallow:\n").can_fetch("https://site.example/x", "Bethink")


@given(st.text(alphabet="*$/ab", max_size=60), st.text(alphabet="/ab", max_size=60))
def test_any_pattern_is_judged(pattern: str, path: str) -> None:
    parse(f"User-agent: *\nDisallow: {pattern}").can_fetch(f"https://site.example/{path}", "Bethink")
