"""What an import is about: topics by the words that set its parts apart. Always the same, without a model.

A sample is looked through first (`TopicLearner`); from it come topics, each with
keywords, and by those anything is given its topics (`TopicMatcher.of`).
"""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bethink.importing.records import ImportTopic
from bethink.search.analysis import STOP_WORDS, Analyzer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from bethink.importing.items import ExportedConversation, ExportedPage


_ROUNDS = 25
_MOST = 24
_LEAST_LIKE = 0.15
"""The cosine below which a vector belongs to no group: its nearest is by accident."""


def clusters(vectors: NDArray[np.float32]) -> list[list[int]]:
    """The rows of each group, the largest group first; those that belong nowhere are in none.

    `vectors` is float32, shape (n, d), L2-normalised. As many groups as half of
    n's square root or so, 24 at most.
    """
    count = len(vectors)
    if count < 2:  # noqa: PLR2004 - one thing is no group
        return []
    centres = _first(vectors, min(_MOST, max(2, round(math.sqrt(count / 2)))))
    nearest = np.full(count, -1)
    for _ in range(_ROUNDS):
        found = np.argmax(vectors @ centres.T, axis=1)
        if np.array_equal(found, nearest):
            break
        nearest = found
        centres = _centres(vectors, nearest, centres)
    likeness = np.take_along_axis(vectors @ centres.T, nearest[:, None], axis=1)[:, 0]
    groups = [
        [int(row) for row in np.flatnonzero((nearest == group) & (likeness >= _LEAST_LIKE))]
        for group in range(len(centres))
    ]
    return sorted((group for group in groups if len(group) > 1), key=lambda group: (-len(group), group[0]))


def _first(vectors: NDArray[np.float32], k: int) -> NDArray[np.float32]:
    mean = vectors.mean(axis=0)
    chosen = [int(np.argmax(vectors @ mean))]
    likest = vectors @ vectors[chosen[0]]
    while len(chosen) < k:
        farthest = int(np.argmin(likest))
        if likest[farthest] > 1 - 1e-6:
            break
        chosen.append(farthest)
        likest = np.maximum(likest, vectors @ vectors[farthest])
    return vectors[chosen]


def _centres(
    vectors: NDArray[np.float32], nearest: NDArray[np.int64], before: NDArray[np.float32]
) -> NDArray[np.float32]:
    """The mean direction of each group; that of an empty one stays."""
    centres = before.copy()
    for group in range(len(before)):
        members = vectors[nearest == group]
        total = members.sum(axis=0)
        length = float(np.linalg.norm(total))
        if length > 0:
            centres[group] = total / length
    return centres


MAX_SAMPLE = 20_000
"""Things from which topics are learnt; what comes behind is given topics by them."""
_MAX_CHARS = 6_000
"""Of one thing: what it is about is said at its beginning."""
_MAX_TERMS = 60
"""Of one thing, the most frequent."""
_TITLE_WEIGHT = 3
_MOST_TOPICS = 40
_LEAST_MEMBERS = 2
_LARGEST_SHARE = 0.4
"""A word that so many of the things have sets none of them apart."""
_FEW = 6
"""With fewer things the share says nothing."""
_KEYWORDS = 6
_COVERED = 0.25
"""What a thing that has a topic already counts for another one."""
_MAX_OF_ONE = 3
_STRONG = 2
"""So often a word stands in what is about it; once in a title counts `_TITLE_WEIGHT` times."""
_WORD = re.compile(r"[^\W\d_]{3,30}")
_WORDS = """
    one two three use used using like get make need want know think look good new way thing things please
    thanks thank help give example really also even much many lot sure yes okay file code line text
    http https www com org value note notes page pages conversation chat could might must shall should
    may let see back first last say said tell time day today work works working set put take ask asked
    """
_EVERYDAY = frozenset(_WORDS.split())
"""Words of every talk, beside those that the index leaves out."""


@dataclass(slots=True)
class TopicLearner:
    """Things are added one by one; `topics` tells what they are about."""

    _analyzer: Analyzer = field(default_factory=Analyzer)
    _stems: dict[str, str] = field(default_factory=dict[str, str])
    _ids: dict[str, int] = field(default_factory=dict[str, int])
    _surfaces: dict[int, Counter[str]] = field(default_factory=dict[int, "Counter[str]"])
    _frequency: Counter[int] = field(default_factory=Counter[int])
    items: list[array[int]] = field(default_factory=list["array[int]"])
    """Of each thing its terms, and behind each how often it stands there."""

    def add(self, title: str, text: str) -> None:
        """Look at one more thing; beyond `MAX_SAMPLE` nothing is learnt."""
        if len(self.items) >= MAX_SAMPLE:
            return
        counted = self.counted(title, text)
        row = array("l")
        for stem, count in counted.most_common(_MAX_TERMS):
            id = self._ids.setdefault(stem, len(self._ids))
            self._frequency[id] += 1
            row.extend((id, count))
        self.items.append(row)

    def topics(self) -> list[ImportTopic]:
        """The topics, that of the most things first."""
        strong = self._strong()
        chosen: list[int] = []
        weights = [1.0] * len(self.items)
        most = min(_MOST_TOPICS, max(3, round(2 * math.sqrt(len(self.items)))))
        scores = {id: self._idf(id) * len(rows) for id, rows in strong.items()}
        while scores and len(chosen) < most:
            best = min(scores, key=lambda id: (-scores[id], self._name(id)))
            if scores[best] < self._idf(best) * _LEAST_MEMBERS * _COVERED * 2:
                break
            chosen.append(best)
            del scores[best]
            touched = Counter[int]()
            for row in strong[best]:
                if weights[row] > _COVERED:
                    weights[row] = _COVERED
                    touched.update(id for id, _ in _pairs(self.items[row]) if id in scores)
            for id in touched:
                scores[id] = self._idf(id) * sum(weights[row] for row in strong[id])
        return self._named([strong[id] for id in chosen], [[id] for id in chosen])

    def topics_of(self, groups: Sequence[Sequence[int]]) -> list[tuple[ImportTopic, Sequence[int]]]:
        """A topic for each group of things, given by their places, named by what sets it apart."""
        found: dict[str, tuple[ImportTopic, Sequence[int]]] = {}
        for rows in groups:
            for topic in self._named([rows], [[]]):
                found.setdefault(topic.name, (topic, rows))
        return list(found.values())

    def counted(self, title: str, text: str) -> Counter[str]:
        """How often its words stand in a thing, by their stems; its title counts more."""
        counted: Counter[str] = Counter()
        for said, weight in ((title, _TITLE_WEIGHT), (text[:_MAX_CHARS], 1)):
            for word in _WORD.findall(said.casefold()):
                if word in STOP_WORDS or word in _EVERYDAY:
                    continue
                stem = self.stem(word)
                counted[stem] += weight
                id = self._ids.setdefault(stem, len(self._ids))
                self._surfaces.setdefault(id, Counter())[word] += 1
        return counted

    def stem(self, word: str) -> str:
        """What a word shares with its other forms."""
        if word not in self._stems:
            terms = self._analyzer.document(word)
            self._stems[word] = terms[0] if terms else word
        return self._stems[word]

    def _strong(self) -> dict[int, list[int]]:
        """By terms the things that are about them: not too few, and not nearly all."""
        rows: defaultdict[int, list[int]] = defaultdict(list)
        for place, row in enumerate(self.items):
            for id, count in _pairs(row):
                if count >= _STRONG:
                    rows[id].append(place)
        most = _LARGEST_SHARE * len(self.items) if len(self.items) > _FEW else len(self.items)
        return {id: found for id, found in rows.items() if _LEAST_MEMBERS <= len(found) <= most}

    def _idf(self, id: int) -> float:
        return math.log(1 + len(self.items) / self._frequency[id])

    def _name(self, id: int) -> str:
        surfaces = self._surfaces[id]
        return min(surfaces, key=lambda word: (-surfaces[word], word))

    def _named(self, groups: Sequence[Sequence[int]], heads: Sequence[Sequence[int]]) -> list[ImportTopic]:
        topics: dict[str, ImportTopic] = {}
        for rows, head in zip(groups, heads, strict=True):
            words = self._keywords(rows, head)
            if not words:
                continue
            name = ", ".join(word.capitalize() if word.islower() else word for word in words[:2])
            if name not in topics:
                topics[name] = ImportTopic(name=name, keywords=tuple(words), count=len(rows))
        return sorted(topics.values(), key=lambda topic: (-topic.count, topic.name))

    def _keywords(self, rows: Sequence[int], head: Sequence[int]) -> list[str]:
        """The words that things of a group have and others have not, the most telling first."""
        inside: Counter[int] = Counter()
        for row in rows:
            inside.update({id: min(count, _STRONG * 2) for id, count in _pairs(self.items[row])})
        scored = {
            id: count * self._idf(id)
            for id, count in inside.items()
            if id not in head and (count >= len(rows) / 3 or len(rows) <= _FEW)
        }
        best = sorted(scored, key=lambda id: (-scored[id], self._name(id)))
        return [self._name(id) for id in (*head, *best[: _KEYWORDS - len(head)])]


@dataclass(frozen=True, slots=True)
class TopicMatcher:
    """Topics by their keywords. `placed` are things whose topics were found in another way, by their keys."""

    topics: Sequence[ImportTopic]
    placed: Mapping[str, str] = field(default_factory=dict[str, str])
    _learning: TopicLearner = field(default_factory=TopicLearner, repr=False)

    def of(self, key: str, title: str, text: str) -> list[ImportTopic]:
        """What one thing is about, the nearest first; at most three."""
        by_name = {topic.name: topic for topic in self.topics}
        if (name := self.placed.get(key)) in by_name:
            return [by_name[name]]
        counted = self._learning.counted(title, text)
        scored: dict[str, float] = {}
        for topic in self.topics:
            first, *others = [self._learning.stem(word.casefold()) for word in topic.keywords]
            score = min(counted[first], 5) + 0.5 * sum(bool(counted[word]) for word in others)
            if counted[first] >= _STRONG:
                scored[topic.name] = score
        best = sorted(scored, key=lambda name: (-scored[name], name))
        return [by_name[name] for name in best[:_MAX_OF_ONE]]


def told_of(item: ExportedConversation | ExportedPage) -> tuple[str, str]:
    """A thing's title and the beginning of what it says."""
    from bethink.importing.items import ExportedPage, TextPart

    if isinstance(item, ExportedPage):
        return item.title, item.text
    said: list[str] = []
    size = 0
    for turn in item.line():
        for piece in turn.pieces:
            if isinstance(piece, TextPart):
                said.append(piece.text[: _MAX_CHARS - size])
                size += len(said[-1])
        if size >= _MAX_CHARS:
            break
    return item.title, "\n".join(said)


def _pairs(row: array[int]) -> Iterable[tuple[int, int]]:
    return zip(row[::2], row[1::2], strict=True)
