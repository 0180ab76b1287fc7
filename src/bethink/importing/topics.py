"""What an import is about: topics by words or by meaning, always the same for the same export. `job` asks.

A sample teaches the topics (`TopicLearner`); their keywords then give anything its topics (`TopicMatcher`).
Groups by meaning are found by spherical k-means that starts from points far apart (Gonzalez 1985).
"""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bethink.importing.items import ExportedConversation, ExportedPage, TextPart
from bethink.importing.records import ImportTopic
from bethink.search.analysis import STOP_WORDS, Analyzer, word_set

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


MAX_SAMPLE = 20_000
"""Items from which topics are learnt; later ones are only matched."""
_MAX_CHARS = 6_000
"""Of one item: its beginning says what it is about."""
_MAX_TERMS = 60
"""Of one item, the most frequent."""
_TITLE_WEIGHT = 3
_MOST_TOPICS = 40
_LEAST_MEMBERS = 2
_LARGEST_SHARE = 0.4
"""A word in more of the items sets none of them apart."""
_FEW = 6
"""Below so many items the share says nothing."""
_KEYWORDS = 6
_COVERED = 0.25
"""What an item that has a topic already counts for another one."""
_MAX_OF_ONE = 3
_STRONG = 2
"""A word is what an item is about if it occurs so often; in a title it counts `_TITLE_WEIGHT` times."""
_ROUNDS = 25
_MOST_GROUPS = 24
_LEAST_COSINE = 0.15
"""Below it a vector belongs to no group."""
_WORD = re.compile(r"[^\W\d_]{3,30}")
_EVERYDAY = word_set("""
    one two three use used using like get make need want know think look good new way thing things please
    thanks thank help give example really also even much many lot sure yes okay file code line text
    http https www com org value note notes page pages conversation chat could might must shall should
    may let see back first last say said tell time day today work works working set put take ask asked
""")
"""Words of every conversation, beside the stop words of search."""


@dataclass(slots=True)
class TopicLearner:
    """Items are added some at a time; `topics` says what they are about."""

    items: list[array[int]] = field(default_factory=list["array[int]"])
    """Of each item its terms, each followed by its count."""
    _analyzer: Analyzer = field(default_factory=Analyzer)
    _stems: dict[str, str] = field(default_factory=dict[str, str])
    _ids: dict[str, int] = field(default_factory=dict[str, int])
    _surfaces: defaultdict[int, Counter[str]] = field(
        default_factory=lambda: defaultdict[int, "Counter[str]"](Counter)
    )
    _frequency: Counter[int] = field(default_factory=Counter[int])

    def add_all(self, items: Sequence[tuple[str, str, str]]) -> None:
        """Learn from more items (key, title, text), up to `MAX_SAMPLE` of all."""
        for _, title, text in items[: MAX_SAMPLE - len(self.items)]:
            row = array("l")
            for stem, count in self.counted(title, text).most_common(_MAX_TERMS):
                id = self._ids[stem]
                self._frequency[id] += 1
                row.extend((id, count))
            self.items.append(row)

    def counted(self, title: str, text: str) -> Counter[str]:
        """How often an item has each stem; its title counts more."""
        counted: Counter[str] = Counter()
        for part, weight in ((title, _TITLE_WEIGHT), (text[:_MAX_CHARS], 1)):
            for word in _WORD.findall(part.casefold()):
                if word not in STOP_WORDS and word not in _EVERYDAY:
                    stem = self.stem(word)
                    counted[stem] += weight
                    self._surfaces[self._ids.setdefault(stem, len(self._ids))][word] += 1
        return counted

    def stem(self, word: str) -> str:
        """What a word shares with its other forms."""
        if word not in self._stems:
            self._stems[word] = next(iter(self._analyzer.document(word)), word)
        return self._stems[word]

    def topics(self) -> list[ImportTopic]:
        """Topics by words, the one of most items first: each word covers what no chosen one does yet."""
        rows = self._rows_by_term()
        weights = [1.0] * len(self.items)
        scores = {id: self._idf(id) * len(found) for id, found in rows.items()}
        chosen: list[int] = []
        most = min(_MOST_TOPICS, max(3, round(2 * math.sqrt(len(self.items)))))
        while scores and len(chosen) < most:
            best = min(scores, key=lambda id: (-scores[id], self._name(id)))
            if scores.pop(best) < self._idf(best) * _LEAST_MEMBERS * _COVERED * 2:
                break
            chosen.append(best)
            touched = set[int]()
            for row in rows[best]:
                weights[row] = _COVERED
                touched.update(self.items[row][::2])
            for id in touched & scores.keys():
                scores[id] = self._idf(id) * sum(weights[row] for row in rows[id])
        return self._named([(rows[id], id) for id in chosen])[0]

    def topics_of(self, groups: Iterable[Sequence[int]]) -> tuple[list[ImportTopic], dict[int, str]]:
        """A topic for each group of items, and by an item's place the name of its topic."""
        return self._named([(rows, None) for rows in groups])

    def _rows_by_term(self) -> dict[int, list[int]]:
        """By term the items that are about it: not too few, and not nearly all."""
        rows: defaultdict[int, list[int]] = defaultdict(list)
        for place, row in enumerate(self.items):
            for id, count in _pairs(row):
                if count >= _STRONG:
                    rows[id].append(place)
        most = len(self.items) * (_LARGEST_SHARE if len(self.items) > _FEW else 1)
        return {id: found for id, found in rows.items() if _LEAST_MEMBERS <= len(found) <= most}

    def _idf(self, id: int) -> float:
        return math.log(1 + len(self.items) / self._frequency[id])

    def _name(self, id: int) -> str:
        surfaces = self._surfaces[id]
        return min(surfaces, key=lambda word: (-surfaces[word], word))

    def _named(
        self, groups: Iterable[tuple[Sequence[int], int | None]]
    ) -> tuple[list[ImportTopic], dict[int, str]]:
        """Groups as topics, each named once: by the term that leads it, if one does, and its keywords."""
        topics: dict[str, ImportTopic] = {}
        names: dict[int, str] = {}
        for rows, head in groups:
            words = self._keywords(rows, head)
            name = ", ".join(word.capitalize() if word.islower() else word for word in words[:2])
            if words and name not in topics:
                topics[name] = ImportTopic(name=name, keywords=tuple(words), count=len(rows))
                names.update(dict.fromkeys(rows, name))
        return sorted(topics.values(), key=lambda topic: (-topic.count, topic.name)), names

    def _keywords(self, rows: Sequence[int], head: int | None) -> list[str]:
        """The words by which a group's items differ most from the others (TF-IDF), behind its head."""
        inside: Counter[int] = Counter()
        for row in rows:
            inside.update({id: min(count, _STRONG * 2) for id, count in _pairs(self.items[row])})
        scored = {
            id: count * self._idf(id)
            for id, count in inside.items()
            if id != head and (count >= len(rows) / 3 or len(rows) <= _FEW)
        }
        best = sorted(scored, key=lambda id: (-scored[id], self._name(id)))
        heads = [] if head is None else [head]
        return [self._name(id) for id in [*heads, *best][:_KEYWORDS]]


@dataclass(frozen=True, slots=True)
class TopicMatcher:
    """Finds the topics of items by keywords; `placed` names those already known, by the items' keys."""

    topics: Sequence[ImportTopic] = ()
    placed: Mapping[str, str] = field(default_factory=dict[str, str])
    _learner: TopicLearner = field(default_factory=TopicLearner, repr=False)

    def of(self, item: ExportedConversation | ExportedPage) -> list[ImportTopic]:
        """The topics of one item, the nearest first; at most three."""
        if not self.topics:
            return []
        if (name := self.placed.get(item.key)) is not None:
            return [topic for topic in self.topics if topic.name == name]
        counted = self._learner.counted(*title_and_text(item))
        scored: list[tuple[float, str, ImportTopic]] = []
        for topic in self.topics:
            first, *others = [self._learner.stem(word.casefold()) for word in topic.keywords]
            if counted[first] >= _STRONG:
                score = min(counted[first], 5) + 0.5 * sum(bool(counted[word]) for word in others)
                scored.append((-score, topic.name, topic))
        return [topic for _, _, topic in sorted(scored, key=lambda one: one[:2])[:_MAX_OF_ONE]]


def title_and_text(item: ExportedConversation | ExportedPage) -> tuple[str, str]:
    """An item's title and the beginning of its text."""
    if isinstance(item, ExportedPage):
        return item.title, item.text
    parts: list[str] = []
    size = 0
    for message in item.line():
        for piece in message.pieces:
            if isinstance(piece, TextPart):
                parts.append(piece.text[: _MAX_CHARS - size])
                size += len(parts[-1])
        if size >= _MAX_CHARS:
            break
    return item.title, "\n".join(parts)


def clusters(vectors: NDArray[np.float32]) -> list[list[int]]:
    """The rows of each group of vectors, the largest group first; rows near no group are left out.

    `vectors` is float32, shape (n, d), L2-normalised. There are about sqrt(n / 2) groups, at most 24.
    """
    import numpy as np

    count = len(vectors)
    if count <= 1:
        return []
    centres = _far_apart(vectors, min(_MOST_GROUPS, max(2, round(math.sqrt(count / 2)))))
    nearest = np.full(count, -1)
    for _ in range(_ROUNDS):
        found = np.argmax(vectors @ centres.T, axis=1)
        if np.array_equal(found, nearest):
            break
        nearest, totals = found, np.zeros_like(centres)
        np.add.at(totals, nearest, vectors)
        lengths = np.linalg.norm(totals, axis=1, keepdims=True)
        centres = np.where(lengths > 0, totals / np.maximum(lengths, 1e-12), centres)
    near = (vectors @ centres.T)[np.arange(count), nearest] >= _LEAST_COSINE
    groups = [np.flatnonzero((nearest == group) & near).tolist() for group in range(len(centres))]
    return sorted((group for group in groups if len(group) > 1), key=lambda group: (-len(group), group[0]))


def _far_apart(vectors: NDArray[np.float32], k: int) -> NDArray[np.float32]:
    """Up to `k` of the vectors, each the farthest from those before it."""
    chosen = [int((vectors @ vectors.mean(axis=0)).argmax())]
    nearness = vectors @ vectors[chosen[0]]
    while len(chosen) < k and nearness.min() <= 1 - 1e-6:
        chosen.append(int(nearness.argmin()))
        nearness = nearness.clip(min=vectors @ vectors[chosen[-1]])
    return vectors[chosen]


def _pairs(row: array[int]) -> Iterable[tuple[int, int]]:
    return zip(row[::2], row[1::2], strict=True)
