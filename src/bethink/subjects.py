"""Whom a sentence is about, and whom a question asks about: the owner, a relative, a pet, a project.

`memory` derives it of facts where nobody said it, `recall` of questions. Read from how sentences begin, in
the languages whose words for relatives and possessives stand here; of what is not plainly about somebody
else the owner is the subject, as of nearly all that a person tells.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

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
_UNSPACED: Final = "|".join(word for word in _LONGEST_FIRST if word[0] >= _UNSPACED_FROM)
_NAME_WORD: Final = r"[^\W\d_a-zà-öø-ÿ][\w.'\u2019-]*"
_NAME: Final = rf"{_NAME_WORD}(?: {_NAME_WORD})?"
_APOSTROPHE: Final = r"['\u2019]"
_MINE: Final = (
    rf"(?:the )?user{_APOSTROPHE}s|my|our|meine?|unsere?|mon|ma|mes|notre|mi|mis|nuestr[oa]|il mio|la mia|mio"
    r"|mia|o meu|a minha|meu|minha|mój|moja|moje|mojego|mojej|nasz|nasza"
)
_KIN: Final = re.compile(
    rf"(?:{_MINE})\s+(?:(?!{_SPACED})[\w-]+\s+){{0,2}}?(?P<kin>{_SPACED})\b(?!-| tongue)(?P<rest>.*)",
    re.IGNORECASE,
)
_OF: Final = rf"des|der|von|vom|de la|de l{_APOSTROPHE}|de|du|del|dell{_APOSTROPHE}|do|da"
_OWNERS: Final = r"user|nutzers?|nutzerin|benutzers?|utilisat\w+|usuari[oa]|utente|użytkowni\w+"
_KIN_OF: Final = re.compile(
    rf"(?:der|die|das|la|le|el|il|lo|a|o)?\s*(?P<kin>{_SPACED})\s+(?:{_OF})?\s*(?:{_OWNERS})\b(?P<rest>.*)",
    re.IGNORECASE,
)
_KIN_UNSPACED: Final = re.compile(
    rf"(?:我|用户|用戶|使用者|私|ユーザー)(?:的|の|家)?(?P<kin>{_UNSPACED})(?P<rest>.*)"
)
_CALLING: Final = rf"called|named|heißt|s{_APOSTROPHE}appelle|se llama|si chiama|ma na imię|nazywa się"
_CALLED: Final = re.compile(
    rf"(?:{_APOSTROPHE}s name)?(?:\s+is)?(?:\s*,)?\s+(?:(?:{_CALLING})\s+)?(?P<name>{_NAME})"
)
_CALLED_UNSPACED: Final = re.compile(r"(?:名叫|叫做|叫)(?P<name>[\w·]{1,12}?)(?=$|[\s，。,.住在是有喜])")
_OWN: Final = re.compile(rf"{_APOSTROPHE}s\s+(?P<kin>{_SPACED})\b(?P<rest>.*)", re.IGNORECASE)
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
_POSSESSED: Final = re.compile(rf"{_APOSTROPHE}s(?= |$)")
_NOBODY_WORDS: Final = """
    user the a an my our his her their its this that these those it he she they we i you there here if
    when while every each all some no not ich er sie es wir das der die ein eine je il elle on yo nutzer
    nutzerin benutzer usuario usuaria utilisateur utilisatrice utente użytkownik użytkowniczka
"""
_NOBODY: Final = frozenset(_NOBODY_WORDS.split())
_FIRST_PERSON: Final = re.compile(
    rf"\b(?:i|me|my|mine|myself|(?:the )?user(?:{_APOSTROPHE}s)?|ich|mich|mir|meine?[mnrs]?|je|j{_APOSTROPHE}"
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
    rf"(?: is| was| ist| war| est| es| è| é| jest|{_APOSTROPHE}s) (?:{_MINE})\b",
    re.IGNORECASE,
)
_KINDRED: Final = frozenset(RELATIONS.values())
_KIN_WORD: Final = re.compile(
    rf"(?:\b(?:{_MINE}|the|an?|eine?n?|une?|una)|{_APOSTROPHE}s)\s+(?:[\w-]+\s+)??({_SPACED})(?![\w-])",
    re.IGNORECASE,
)
"""Behind the word that says whose: alone, some mean something else in another language."""
_KIN_CHAR: Final = re.compile(_UNSPACED)
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
    is_own = _FIRST_PERSON.search(question) is not None and _OTHER.search(question) is None
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
