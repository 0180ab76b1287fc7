"""What a text names: capital words in a row, codes, and where links lead. `view` and `service` call it.

There is no model in it. Weak in languages that capitalise nouns or have no capitals.
"""

from __future__ import annotations

import re
from typing import Final

from bethink.search.analysis import STOP_WORDS

_LINK: Final = re.compile(r"\[\[([^\]|#\n]{1,100})[^\]\n]*\]\]|\[[^\]\n]{0,200}\]\(([^)\s]{1,300})\)")
_TOKEN: Final = re.compile(r"\w[\w'’&-]*")
_INSIDE: Final = frozenset({"of", "de", "von", "van", "du", "da", "del", "der"})
"""Words that stand inside of names."""
_SHORTEST: Final = 3
_PAIR: Final = 2
_ENDING: Final = re.compile(r"\.[a-z0-9]{1,5}$")


def names_of(text: str) -> list[str]:
    """What a text names, each once: capital words in a row, codes, and where links lead.

    A single capital word at the beginning of a sentence is no name.
    """
    found = [link_name(link[1] or link[2]) for link in _LINK.finditer(text)]
    row: list[re.Match[str]] = []
    for token in _TOKEN.finditer(text):
        is_beside = bool(row) and text[row[-1].end() : token.start()] == " "
        if row and not (is_beside and (_is_capital(token[0]) or token[0] in _INSIDE)):
            found += _names(row, text)
            row = []
        if _is_capital(token[0]) or row:
            row.append(token)
    if row:
        found += _names(row, text)
    fit = (name for name in found if len(name) >= _SHORTEST and name.casefold() not in STOP_WORDS)
    return list({name.casefold(): name for name in fit}.values())


def link_name(target: str) -> str:
    """What a link to a page or a file calls it, without path and ending."""
    last = _ENDING.sub("", target.rstrip("/").rpartition("/")[2].lower())
    return re.sub(r"[-_]+|%20", " ", last).strip()


def _is_capital(word: str) -> bool:
    has_digit = any(char.isdigit() for char in word)
    return word[0].isupper() or (has_digit and any(char.isalpha() for char in word))


def _names(row: list[re.Match[str]], text: str) -> list[str]:
    """A row of words as a name; nothing if it is only how a sentence begins.

    What begins a sentence may be a name with the word before it: "Ask Ada Quist" is that, and "Ada Quist".
    """
    while row and row[-1][0] in _INSIDE:
        row.pop()
    first = row[0]
    before = text[: first.start()].rstrip(" ")[-1:]
    opens = not before or not (before.isalnum() or before in ",;(\"“'")
    if opens and first[0].casefold() in STOP_WORDS:
        row = row[1:]
    elif opens and len(row) == 1 and not (first[0].isupper() or any(char.isdigit() for char in first[0])):
        return []
    elif opens and len(row) > _PAIR:
        return [text[one.start() : row[-1].end()] for one in row[:2]]
    return [text[row[0].start() : row[-1].end()]] if row else []
