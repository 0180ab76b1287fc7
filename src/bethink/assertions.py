"""Which parts of a message its writer states of their own accord, and whether a fact says what they say.

`agent/extraction` asks before it believes a model: a message also holds what others wrote (pasted, quoted,
to be translated), what is not so (stories, dreams, jokes, "if I moved") and what is only asked. All of it is
told by marks and by words of ten languages (`assertions.toml`), for precision: what is left out wrongly can
be said again, what is kept wrongly is believed. No model takes part. The first look at a sentence compiles
the words for 30 ms: ask in a thread. What others wrote (`parted`) is told of what is recalled, too.

Also whom a sentence is about, and whom a question asks about: the owner, a relative, a pet, a project.
`memory` derives it of facts that do not say it, `recall` of questions. It is read from how sentences begin,
in the languages whose words for relatives and possessives stand here; what is not plainly about somebody else
is about the owner, as nearly all that a person tells.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final, Literal

Reason = Literal[
    "pasted",
    "quoted",
    "to be worked on",
    "invented",
    "dreamt",
    "hypothetical",
    "reported",
    "joking",
    "asked",
    "requested",
    "uncertain",
]
"""Why a passage is not its writer's assertion; what is `uncertain` may be, and is theirs to decide."""


@dataclass(frozen=True, slots=True)
class JudgedSentence:
    """A sentence of a message, from `start` to `end`; without a `reason` its writer asserts it."""

    start: int
    end: int
    text: str
    reason: Reason | None = None


_TABLE: Final[Mapping[str, Mapping[str, Sequence[str]]]] = tomllib.loads(
    resources.files("bethink").joinpath("assertions.toml").read_text("utf-8")
)


@cache
def _marks(kind: str) -> re.Pattern[str]:
    """What tells a kind of passage, compiled on first use."""
    told = _TABLE[kind]
    whole = [rf"(?<!\w)(?:{'|'.join(told['words'])})(?!\w)"] if "words" in told else []
    return re.compile("|".join((*whole, *told.get("parts", ()))), re.IGNORECASE | re.MULTILINE)


_END: Final = re.compile(r"[.!?…]+[\"'”»)\]]*(?=\s|$)|[。！？｡]+[」』”）]*|।|\n+")
_SHORT_WORD: Final = re.compile(
    r"(?:^|[\s(])(?:[A-ZÄÖÜ]|z|d|ca|bzw|e|p|Dr|Mr|Mrs|Ms|St|Prof|Hr|Fr|Nr|No|Str|Sr|Sra|Sig|Mme|Dott|Av|vs)\.$"
)
"""The point behind "Dr." or an initial ends nothing."""

# --- what others wrote ---

_LINE: Final = re.compile(r"^[ \t]*(?:>|\|).*$", re.MULTILINE)
_BLOCK: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_CODE: Final = re.compile(r"`[^`\n]+`")
_QUOTATION: Final = re.compile(
    r"“[^“”]*”|„[^„“”]*[“”]|«[^«»]*»|»[^«»]*«|「[^「」]*」|『[^『』]*』|\"[^\"]*\"|(?<!\w)'[^'\n]{12,}'(?!\w)"
)
_NAME_WORDS: Final = 3
_NAME_CHARS: Final = 6
"""A quotation as short as this may be a name: the boat "Halcyone"."""
_GIVEN: Final = re.compile(r"[:：]\s|\n")
"""Where what is to be worked on begins."""
_PARTED_CHARS: Final = 4_000
"""Of a message, looked at to tell what of it is pasted: that takes a millisecond."""
_LONG_PASTE: Final = 1_500
"""Characters; people tell of themselves in less, and what they paste is longer."""


# --- what is not so ---

_QUESTION: Final = re.compile(r"[?？؟]|か。?\s*$|吗。?\s*$|呢。?\s*$|^\s*क्या\b.*$")

_OF_SENTENCE: Final[Mapping[str, Reason]] = {
    "unreal": "hypothetical",
    "report": "reported",
    "request": "requested",
    "hedge": "uncertain",
}
_ONWARD: Final[Mapping[str, Reason]] = {"suppose": "hypothetical", "dream": "dreamt", "yours": "quoted"}
"""What holds from where it is said to the end: a dream is told in several sentences."""
_OF_ALL: Final[Mapping[str, Reason]] = {"work": "to be worked on", "fiction": "invented", "joke": "joking"}


def passages(text: str) -> list[JudgedSentence]:
    """The sentences of a message in order, each with the reason why its writer does not assert it."""
    sentences = [*_sentences(text)]
    of_all = _told(text, _OF_ALL)
    if of_all is None and len(text) > _LONG_PASTE:
        of_all = "pasted"
    others = _of_others(text)
    found: list[JudgedSentence] = []
    onward: Reason | None = None
    for one in sentences:
        onward = onward or _told(one.text, _ONWARD)
        reason = of_all or _within(one, others) or onward or _of_sentence(one.text)
        found.append(JudgedSentence(one.start, one.end, one.text, reason))
    return found


def _told(text: str, kinds: Mapping[str, Reason]) -> Reason | None:
    return next((reason for kind, reason in kinds.items() if _marks(kind).search(text)), None)


def _of_sentence(text: str) -> Reason | None:
    return "asked" if _QUESTION.search(text) else _told(text, _OF_SENTENCE)


def _sentences(text: str) -> Iterator[JudgedSentence]:
    begun = 0
    for end in _END.finditer(text):
        piece = text[begun : end.end()]
        if end.group().startswith(".") and _SHORT_WORD.search(piece.rstrip()):
            continue
        if piece.strip():
            yield JudgedSentence(begun, end.end(), piece.strip())
        begun = end.end()
    if text[begun:].strip():
        yield JudgedSentence(begun, len(text), text[begun:].strip())


_Span = tuple[int, int, Reason]


def parted(text: str) -> tuple[str, str]:
    """What of a message its writer wrote, and what they pasted or gave to be worked on, each in order.

    What stands between quotation marks stays in its place: it shows by itself whose words it has.
    """
    head = text[:_PARTED_CHARS]
    spans = [(start, end) for start, end, _ in _pasted(head)]
    if _marks("work").search(head) and (given := _GIVEN.search(head)):
        spans.append((given.end(), len(head)))
    own: list[str] = []
    others: list[str] = []
    done = 0
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start < done:
            continue
        own += [text[done:start].strip(), "[…]"]
        done = end if end < len(head) else len(text)
        others.append(text[start:done].strip())
    own.append(text[done:].strip())
    return (" ".join(filter(None, own)), "\n".join(others)) if any(others) else (text, "")


def _of_others(text: str) -> list[_Span]:
    """The spans that somebody else wrote."""
    quotations = (one for one in _QUOTATION.finditer(text) if not _is_name(one.group()[1:-1]))
    return [*_pasted(text), *_spans(_CODE.finditer(text), "pasted"), *_spans(quotations, "quoted")]


def _pasted(text: str) -> list[_Span]:
    begins = [one.start() for kind in ("header", "greeting") for one in _marks(kind).finditer(text)]
    begins += [one.end() for one in [_marks("shown").search(text)] if one]
    is_closed = "\n" in text.strip() and _marks("closing").search(text)
    if not begins and is_closed:
        begins = [0]
    return [
        *([(min(begins), len(text), "pasted")] if begins else []),
        *_spans(_LINE.finditer(text), "quoted"),
        *_spans(_BLOCK.finditer(text), "pasted"),
    ]


def _spans(found: Iterable[re.Match[str]], reason: Reason) -> Iterator[_Span]:
    return ((one.start(), one.end(), reason) for one in found)


def _is_name(quoted: str) -> bool:
    is_unspaced = _UNSPACED.search(quoted) is not None
    return len(quoted) <= _NAME_CHARS if is_unspaced else len(quoted.split()) <= _NAME_WORDS


def _within(one: JudgedSentence, others: Sequence[_Span]) -> Reason | None:
    return next((reason for start, end, reason in others if start < one.end and one.start < end), None)


# --- where a fact's words stand ---

_APOSTROPHE: Final = re.compile("['’‘ʼ]")
_MARKS: Final = re.compile(r"[\"“”„«»「」『』]")


def quoted_in(quote: str, text: str) -> tuple[int, int] | None:
    """Where a text has these words one after the other, whatever its case, spaces and marks, if it has."""
    words = _MARKS.sub(" ", quote).strip(" \t\n.!?。！？।,;…").split()
    if not words:
        return None
    loose = (_APOSTROPHE.sub(_APOSTROPHE.pattern, re.escape(word)) for word in words)
    found = re.search(r"[\s\"“”„«»「」『』]+".join(loose), text, re.IGNORECASE)
    return found and (found.start(), found.end())


_UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_TOKEN: Final = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+"
    r"|[^\W_\u3040-\u30ff\u3400-\u9fff](?:[^\W\u3040-\u30ff\u3400-\u9fff]|[\u0900-\u0963\u0966-\u097f])*"
)
_SHORTEST: Final = 3
_MOSTLY: Final = 2 / 3
"""The share of a clause's words that another statement has if it is that which the clause denies."""
_OF_PERSONS: Final = {"s", "t"}
"""How the first and the third person of short French verbs end: "vis" and "vit"."""
_SAME_SHARE: Final = 0.55
"""How much of the longer of two words is common at their beginning if they are forms of one."""


def _tokens(text: str) -> set[str]:
    """The words that tell something; of a writing without spaces each pair of neighbours."""
    found: set[str] = set()
    for token in _TOKEN.findall(_marks("owner").sub(" ", unicodedata.normalize("NFC", text))):
        if _UNSPACED.match(token):
            found |= {token[at : at + 2] for at in range(max(len(token) - 1, 1))}
        elif not _marks("light").fullmatch(token) and (
            len(token) >= _SHORTEST or token[0].isdigit() or token[0].isupper()
        ):
            found.add(token.casefold())
    return found


def _is_form(token: str, others: set[str]) -> bool:
    """Whether a word or another form of it is among others."""
    if token in others:
        return True
    if _UNSPACED.match(token):
        return len(token) == 1 and any(token in other for other in others)
    if token[0].isdigit():
        return False
    for other in others:
        if token[:-1] == other[:-1] and {token[-1], other[-1]} == _OF_PERSONS:
            return True
        common = 0
        for a, b in zip(token, other, strict=False):
            if a != b:
                break
            common += 1
        if common >= max(_SHORTEST, _SAME_SHARE * max(len(token), len(other))):
            return True
    return False


def share_said(content: str, said: str) -> float:
    """The share of a statement's telling words that a text has, in any form; 0 if it has none that tell."""
    tokens, there = _tokens(content), _tokens(said)
    return sum(_is_form(token, there) for token in tokens) / len(tokens) if tokens else 0.0


def names_said(content: str, said: str) -> bool:
    """Whether a text has all names and numbers of a statement."""
    there, rest = _tokens(said), _marks("owner").sub(" ", content)
    tokens = _TOKEN.findall(rest)
    begins_with_owner = _marks("owner").match(content.strip()) is not None
    # The first word has a capital letter whatever it is.
    marked = [
        token
        for place, token in enumerate(tokens)
        if token[0].isdigit() or (token[0].isupper() and (place or begins_with_owner))
    ]
    return all(_is_form(token.casefold(), there) for token in marked if not _marks("light").fullmatch(token))


_OTHER_CLAUSE: Final = re.compile(
    r"[,;，；、]|\bbut\b|\bsondern\b|\bmais\b|\bpero\b|\bma\b|\bmas\b|\bale\b|而是|じゃなくて|ではなく|बल्कि",
    re.IGNORECASE,
)


def denies_alike(content: str, quote: str) -> bool | None:
    """Whether a statement denies if the words that it is made of do; None if another clause may do so."""
    stated = _marks("negation").search(_marks("owner").sub(" ", content)) is not None
    if stated == (_marks("negation").search(quote) is not None):
        return True
    return None if not stated and _OTHER_CLAUSE.search(quote) else False


def without_denied(sentence: str, others: Sequence[str]) -> str:
    """The sentence without clauses that deny what `others` state: "I live in Bonn, not in Köln"."""
    negation = _marks("negation")
    stated = [other for other in others if not negation.search(other)]
    kept: list[str] = []
    for clause in _OTHER_CLAUSE.split(sentence):
        rest = negation.sub(" ", clause)
        if rest == clause or all(share_said(rest, other) < _MOSTLY for other in stated):
            kept.append(clause)
    return ", ".join(kept) if stated else sentence


_FIRST_PERSON: Final = re.compile(r"(?:o|[íéìò]|[ae]?i)$")
_THIRD_PERSON: Final = re.compile(r"(?:[aeà]|[óòì]|[eio]u)$")
"""How verbs of Romance languages end, which leave out who does it: "colleziono" and "colleziona"."""


def _in_first_person(content: str, sentence: str) -> bool:
    """Whether the words have a verb in the first person that a statement has in the third."""
    own = {word for word in _tokens(sentence) if _FIRST_PERSON.search(word)}
    return any(
        _THIRD_PERSON.search(word) and word not in own and _is_form(word, own) for word in _tokens(content)
    )


def speaks_of_self(content: str, sentence: str) -> bool:
    """Whether a sentence names its writer, or what is theirs, or leaves them out as their language does.

    `content` is what was made of it, in the third person.
    """
    if _marks("mine").search(sentence) or _in_first_person(content, sentence):
        return True
    # Japanese leaves out who speaks of themselves.
    return names_writer(sentence) and _marks("relative").search(sentence) is None


def mixes_people_up(content: str, quote: str) -> bool:
    """Whether the words speak of a relative, a friend or an animal whom the statement leaves out."""
    named = {one.group().casefold() for one in _marks("relative").finditer(quote)}
    if not named:
        return False
    there = _tokens(content)
    return not any(
        _marks("relative").search(content) and (_is_form(one, there) or one in content.casefold())
        for one in named
    )


def tells_change(text: str) -> bool:
    """Whether a text says that something is otherwise than it was, or than it was said."""
    return _marks("change").search(text) is not None or tells_mistake(text)


def tells_mistake(text: str) -> bool:
    """Whether a text says that what was said before was never so."""
    return _marks("mistake").search(text) is not None


def names_writer(sentence: str) -> bool:
    """Whether a sentence names its writer, or leaves them out as Japanese does."""
    unnamed = _UNSPACED.search(sentence) and _marks("unnamed").search(sentence)
    return bool(_marks("mine").search(sentence) or unnamed)


def fits_owner(content: str) -> bool:
    """Whether a statement names the owner in the third person, and nobody in the first."""
    named = _marks("owner").sub(" ", content)
    return named != content and _marks("first").search(named) is None


def tells_end(text: str) -> bool:
    """Whether a text asks to forget something, or says that it is over."""
    return _marks("ending").search(text) is not None


_MOST_ASSERTED: Final = 3


def asserted(text: str) -> list[str]:
    """The first sentences that a message's writer may assert; all of it if there are none."""
    told = [one.text for one in passages(text) if one.reason in {None, "uncertain"} and may_tell(one.text)]
    return told[:_MOST_ASSERTED] or [text]


_LEAST_WORDS, _LEAST_CHARS = 2, 4
_TELLING_WORDS: Final = 4
"""Shorter sentences tell something if they name their writer, somebody else, or a number."""


def may_tell(text: str) -> bool:
    """Whether a message may state something worth a look: small talk and plain questions do not."""
    return any(
        one.reason in {None, "uncertain"}
        and _is_long_enough(one.text)
        and any(char.isalpha() for char in one.text)
        for one in passages(text)
    ) or any(one.reason == "requested" and tells_end(one.text) for one in passages(text))


def _is_long_enough(sentence: str) -> bool:
    if _UNSPACED.search(sentence):
        return len(sentence) >= _LEAST_CHARS
    words = [word for word in sentence.split() if any(map(str.isalnum, word))]
    if not _LEAST_WORDS <= len(words) < _TELLING_WORDS:
        return len(words) >= _TELLING_WORDS
    return bool(_marks("mine").search(sentence)) or any(not word.islower() for word in words[1:])


OWNER: Final = "owner"
"""How the owner is named as a subject."""

_READ_CHARS: Final = 300
"""A subject stands at the beginning."""

_RELATIONS_TABLE: Final = """
    sister: sister, schwester, sœur, soeur, hermana, sorella, irmã, siostra, siostry, siostrze, 妹妹, 姐姐
    sister: 姊姊
    brother: brother, bruder, frère, hermano, fratello, irmão, brat, brata, 弟弟, 哥哥
    mother: mother, mom, mum, mama, mutter, mère, maman, madre, mamma, mãe, matka, matki, mamy, 妈妈, 媽媽
    mother: 母亲
    father: father, dad, papa, vater, père, padre, papà, pai, ojciec, ojca, tata, taty, 爸爸, 父亲, 父親
    sibling: sibling, siblings, geschwister, rodzeństwo
    parents: parents, eltern, padres, genitori, pais, rodzice, rodziców, 父母, 両親
    wife: wife, frau, ehefrau, femme, esposa, mujer, moglie, żona, żony, 妻子, 老婆, 太太
    husband: husband, mann, ehemann, mari, marido, esposo, marito, mąż, męża, 丈夫, 老公
    partner: partner, partnerin, girlfriend, boyfriend, freundin, compagne, compagnon, novia, novio
    partner: fidanzata, fidanzato, dziewczyna, chłopak, fiancé, fiancée, fiance, spouse, 女朋友, 男朋友
    partner: 女友, 男友
    daughter: daughter, tochter, fille, hija, figlia, filha, córka, córki, 女儿, 女兒
    son: son, sohn, fils, hijo, figlio, filho, syn, syna, 儿子, 兒子, 息子
    child: child, children, kid, kids, kind, kinder, baby, enfant, enfants, hijos, dziecko, dzieci, 孩子
    child: 子供
    grandmother: grandmother, grandma, granny, oma, großmutter, grand-mère, mamie, abuela, nonna, avó
    grandmother: babcia, babci, 奶奶, 外婆, 祖母
    grandfather: grandfather, grandpa, opa, großvater, grand-père, papi, abuelo, nonno, avô, dziadek
    grandfather: dziadka, 爷爷, 外公, 祖父
    aunt: aunt, tante, tía, zia, tia, ciocia, 阿姨, 姑姑
    uncle: uncle, onkel, oncle, tío, zio, tio, wujek, 叔叔, 舅舅
    cousin: cousin, cousine, primo, prima, cugino, cugina, kuzyn, kuzynka, 表妹, 表弟, 表哥, 表姐
    niece: niece, nichte, nièce, sobrina, siostrzenica
    nephew: nephew, neffe, neveu, sobrino, siostrzeniec
    friend: friend, freund, ami, amie, amigo, amiga, amico, amica, przyjaciel, przyjaciółka, 朋友, 友達
    flatmate: flatmate, roommate, housemate, mitbewohner, mitbewohnerin, colocataire, 室友
    neighbour: neighbour, neighbor, nachbar, nachbarin, voisin, voisine, vecino, vecina, sąsiad, sąsiadka
    neighbour: 邻居
    colleague: colleague, coworker, co-worker, kollege, kollegin, collègue, colega, collega, 同事
    boss: boss, manager, superior, supervisor, chef, chefin, jefe, jefa, szef, szefowa, 老板, 上司
    dog: dog, puppy, hund, hündin, chien, chienne, perro, perra, cane, cão, pies, psa, 狗, 犬
    cat: cat, kitten, katze, kater, chat, chatte, gato, gata, gatto, gatta, kot, kota, 猫, 貓
    pet: pet, horse, pony, rabbit, hamster, parrot, tortoise, guinea pig, haustier, pferd, kaninchen, cheval
    pet: caballo, koń, chomik
    project: project, projekt, projet, proyecto, progetto, projeto, startup, start-up, 项目, 專案
"""


def _relations() -> dict[str, str]:
    found: dict[str, str] = {}
    for line in _RELATIONS_TABLE.strip().splitlines():
        relation, _, words = line.partition(":")
        for word in map(str.strip, words.split(",")):
            # In the Swiss spelling, too ("Grossmutter"): it is what a word is compared by.
            found |= {word: relation.strip(), word.casefold(): relation.strip()}
    return found


RELATIONS: Final = _relations()
"""What a word for a relative, a pet or a project means, in the one word that stands for all."""
_TO_OWNER: Final = re.compile(r"\b(?:me|us|mir|mich|uns|moi|nous|mnie|nam|nas)\b", re.IGNORECASE)
_KINDS: Final = {
    "sibling": ("sister", "brother"),
    "parents": ("mother", "father"),
    "child": ("son", "daughter"),
    "pet": ("dog", "cat"),
}
"""Whom a question may mean by a word for several."""
_LONGEST_FIRST: Final = sorted(RELATIONS, key=len, reverse=True)
_UNSPACED_FROM: Final = "\u2e80"
"""Here the scripts begin that put no spaces between words."""
_SPACED: Final = "|".join(re.escape(word) for word in _LONGEST_FIRST if word[0] < _UNSPACED_FROM)
_KIN_WORDS_UNSPACED: Final = "|".join(word for word in _LONGEST_FIRST if word[0] >= _UNSPACED_FROM)
_NAME_WORD: Final = r"[^\W\d_a-zà-öø-ÿ][\w.'\u2019-]*"
_NAME: Final = rf"{_NAME_WORD}(?: {_NAME_WORD})?"
_QUOTE: Final = r"['\u2019]"
_MINE: Final = (
    rf"(?:the )?user{_QUOTE}s|my|our|meine?|unsere?|mon|ma|mes|notre|mi|mis|nuestr[oa]|il mio|la mia|mio"
    r"|mia|o meu|a minha|meu|minha|mój|moja|moje|mojego|mojej|nasz|nasza"
)
_KIN: Final = re.compile(
    rf"(?:{_MINE})\s+(?:(?!{_SPACED})[\w-]+\s+){{0,2}}?(?P<kin>{_SPACED})\b(?!-| tongue)(?P<rest>.*)",
    re.IGNORECASE,
)
_OF: Final = rf"des|der|von|vom|de la|de l{_QUOTE}|de|du|del|dell{_QUOTE}|do|da"
_OWNERS: Final = r"user|nutzers?|nutzerin|benutzers?|utilisat\w+|usuari[oa]|utente|użytkowni\w+"
_KIN_OF: Final = re.compile(
    rf"(?:der|die|das|la|le|el|il|lo|a|o)?\s*(?P<kin>{_SPACED})\s+(?:{_OF})?\s*(?:{_OWNERS})\b(?P<rest>.*)",
    re.IGNORECASE,
)
_KIN_UNSPACED: Final = re.compile(
    rf"(?:我|用户|用戶|使用者|私|ユーザー)(?:的|の|家)?(?P<kin>{_KIN_WORDS_UNSPACED})(?P<rest>.*)"
)
_CALLING: Final = rf"called|named|heißt|s{_QUOTE}appelle|se llama|si chiama|ma na imię|nazywa się"
_CALLED: Final = re.compile(
    rf"(?:{_QUOTE}s name)?(?:\s+is)?(?:\s*,)?\s+(?:(?:{_CALLING})\s+)?(?P<name>{_NAME})"
)
_CALLED_UNSPACED: Final = re.compile(r"(?:名叫|叫做|叫)(?P<name>[\w·]{1,12}?)(?=$|[\s，。,.住在是有喜])")
_OWN: Final = re.compile(rf"{_QUOTE}s\s+(?P<kin>{_SPACED})\b(?P<rest>.*)", re.IGNORECASE)
_HAS: Final = re.compile(
    rf"(?:(?:the )?user|i)\s+(?:has|have)\s+(?:an?|one|two|three)\s+(?:[\w-]+\s+){{0,2}}?(?P<kin>{_SPACED})"
    rf"\s*,?\s+(?:called|named)\s+(?P<name>{_NAME})",
    re.IGNORECASE,
)
_VERBS_WORDS: Final = """
    is was has had will can does did lives lived works worked likes liked loves loved prefers hates
    wants needs plays played studies studied speaks owns goes eats drinks moved died turned got became
    teaches runs sings knows hopes plans weighs comes came uses travels visits started left wears reads
    drives celebrates sleeps barks suffers moves ist hat hatte war wird kann lebt wohnt arbeitet mag
    liebt heißt spielt studiert spricht isst trinkt zog est habite travaille aime vive trabaja gusta
    tiene es abita lavora ha mieszka pracuje lubi ma jest
"""
_VERBS: Final = frozenset(_VERBS_WORDS.split())
_BEGINS: Final = re.compile(rf"(?P<name>{_NAME})\s+(?P<verb>[\w-]+)")
_POSSESSED: Final = re.compile(rf"{_QUOTE}s(?= |$)")
_NOBODY_WORDS: Final = """
    user the a an my our his her their its this that these those it he she they we i you there here if
    when while every each all some no not ich er sie es wir das der die ein eine je il elle on yo nutzer
    nutzerin benutzer usuario usuaria utilisateur utilisatrice utente użytkownik użytkowniczka
"""
_NOBODY: Final = frozenset(_NOBODY_WORDS.split())
_SELF_WORDS: Final = re.compile(
    rf"\b(?:i|me|my|mine|myself|(?:the )?user(?:{_QUOTE}s)?|ich|mich|mir|meine?[mnrs]?|je|j{_QUOTE}"
    r"|moi|mon|ma|mes|yo|mi|mis|io|mio|mia|meu|minha|eu|ja|mój|moja|moje|mnie|mam|mieszkam|pracuję|lubię|vivo"
    r"|trabajo|tengo|abito|lavoro)\b|我|私|僕",
    re.IGNORECASE,
)
_OTHER: Final = re.compile(
    r"\b(?:family|relatives?|friends|people|who|whom|whose|anyone|anybody|someone|everyone|familie|wer|wen"
    r"|wem|freunde|famille|qui|familia|quién|famiglia|chi|rodzina|kto|kogo)\b|谁|誰|家人|朋友",
    re.IGNORECASE,
)
"""Asks for others, though it may name the owner: "Who do I know in Oslo?"."""
_WHO_IS_MY: Final = re.compile(
    r"\b(?:who|wer|qui|quién|chi|quem|kto)"
    rf"(?: is| was| ist| war| est| es| è| é| jest|{_QUOTE}s) (?:{_MINE})\b",
    re.IGNORECASE,
)
_KINDRED: Final = frozenset(RELATIONS.values())
_KIN_WORD: Final = re.compile(
    rf"(?:\b(?:{_MINE}|the|an?|eine?n?|une?|una)|{_QUOTE}s)\s+(?:[\w-]+\s+)??({_SPACED})(?![\w-])",
    re.IGNORECASE,
)
"""Behind the word that says whose: alone, some mean something else in another language."""
_KIN_CHAR: Final = re.compile(_KIN_WORDS_UNSPACED)
_WORD: Final = re.compile(r"\w+")


def about_of(content: str) -> str:
    """Whom a statement is about: `owner`, a name ("Anna"), or what they are to the owner ("sister")."""
    text = content[:_READ_CHARS].strip()
    if has := _HAS.match(text):
        return has["name"]
    for pattern in (_KIN, _KIN_OF, _KIN_UNSPACED):
        if found := pattern.match(text):
            return _named(found)
    return _by_name(text)


def _named(found: re.Match[str]) -> str:
    """The last of a chain ("sister's dog Rex"), by name if it has one."""
    kin, rest = found["kin"], found["rest"]
    while owned := _OWN.match(rest):
        kin, rest = owned["kin"], owned["rest"]
    called = _CALLED.match(rest) or _CALLED_UNSPACED.match(rest)
    return _without_own(called["name"]) if called else RELATIONS[kin.casefold()]


def _by_name(text: str) -> str:
    begins = _BEGINS.match(text)
    if begins is None:
        return OWNER
    name = _without_own(begins["name"])
    if name.split()[0].casefold() in _NOBODY | _VERBS:
        return OWNER
    return name if name != begins["name"] or begins["verb"].casefold() in _VERBS else OWNER


def _without_own(name: str) -> str:
    return _POSSESSED.sub("", name).rstrip(".'")


@dataclass(frozen=True, slots=True)
class AskedSubject:
    """Whom a question asks about: the `owner` alone, or those of these relations and names.

    `somebody` asks for a person by what they are to the owner: "Who is my employer?".
    """

    owner: bool = False
    somebody: bool = False
    relations: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()

    def fits(self, about: str, text: str) -> bool | None:
        """Whether a statement about somebody is of whom the question asks; None if nothing can be told."""
        if self.owner:
            # "My grandmother left me a watch" tells of both.
            return about == OWNER or (None if _TO_OWNER.search(text) else False)
        if self.somebody and about in _KINDRED:
            return None if _TO_OWNER.search(text) else False
        if not (self.relations or self.names):
            return None
        told = f"{about} {text}"
        return bool(self.relations & {about, *relations_in(text)}) or any(
            _speaks(told, name) for name in self.names
        )


def asked_subject(question: str, known: Collection[str]) -> AskedSubject:
    """Whom a question asks about, as far as its words tell; `known` are those whom statements are about."""
    relations = relations_in(question)
    relations |= {kind for relation in relations for kind in _KINDS.get(relation, ())}
    names = frozenset(name for name in known if name != OWNER and _speaks(question, name))
    is_told = bool(relations or names)
    is_own = _SELF_WORDS.search(question) is not None and _OTHER.search(question) is None
    is_somebody = _WHO_IS_MY.search(question) is not None
    return AskedSubject(is_own and not is_told, is_somebody and not is_told, relations, names)


def with_other_names(question: str, known: Sequence[tuple[str, str]]) -> str:
    """A question with all names of whom it names by one; `known` are pairs of another name and the usual."""
    spoken = relations_in(question)
    people: dict[str, list[str]] = {}
    for name, usual in known:
        people.setdefault(usual, [usual]).append(name)
    added: list[str] = []
    for names in people.values():
        here = [name for name in names if name in spoken or _speaks(question, name)]
        if here:
            added += [f"my {name}" if name in _KINDRED else name for name in names if name not in here]
    return f"{question} ({', '.join(added)})" if added else question


def relations_in(text: str) -> frozenset[str]:
    """What relatives, pets and projects a text speaks of."""
    found = (*_KIN_WORD.findall(text.replace("\u2019", "'")), *_KIN_CHAR.findall(text))
    return frozenset(RELATIONS[word.casefold()] for word in found)


def _speaks(text: str, name: str) -> bool:
    """Whether a text has a word of a name; names in writing without spaces are looked for as they are."""
    if not name.isascii() and not name[0].isupper():
        return name in text
    words = {word.casefold() for word in _WORD.findall(text)}
    return any(word.casefold() in words for word in _WORD.findall(name))
