"""From a text to the terms that lexical search compares, and from an index item to what an index keeps of it.

The index's adapters call it; `shard` reads the entries. Words are stemmed (Snowball; in English, "Porter 2",
after irregular forms were brought to their base) and function words left out. A text in another of the
`LANGUAGES` has its words by English rules too: names are the same in all, and many a text is too short to
tell. Scripts that put no spaces between words (Chinese, Japanese, Thai, Lao, Khmer, Burmese), and Korean,
whose particles cling to the noun, become pairs of characters, as in Lucene's CJK analyzer. Letters lose
their accents and vowel points, numbers and the parts of dates stay.

The language of a text is told by its function words and letters; if nothing tells, it counts as English.
Function words are written without accents, as texts are when they are compared, and carry no matter:
articles, pronouns, prepositions, auxiliaries, question words.
"""

from __future__ import annotations

import hashlib
import re
import threading
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, cast

from bethink.embeddings import EmbeddingModel
from bethink.errors import BadInput
from bethink.index import IndexItem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Language:
    """`name` is Snowball's; `letters` stand in no text of the others here."""

    name: str
    letters: re.Pattern[str]
    function_words: frozenset[str]


def word_set(words: str) -> frozenset[str]:
    """The words of a table."""
    return frozenset(words.split())


def _language(name: str, letters: str, words: str) -> Language:
    return Language(name, re.compile(letters), word_set(words))


ENGLISH: Final = _language(
    "english",
    "(?!)",
    """
    a about above after again all also am an and any are as at be because been before being below
    between both but by can could d did do does doing don down during each few for from further had has
    have having he her here hers herself him himself his how i if in into is it its itself just ll m me
    more most my myself no nor not now of off on once only or other our ours ourselves out over own re s
    same she should so some such t than that the their theirs them themselves then there these they this
    those through to too under until up ve very was we were what when where which while who whom why with
    would you your yours yourself yourselves
    """,
)
"""Left in: "may", "will" and others that also name months and people."""

_OTHERS: Final = (
    _language(
        "german",
        "[äöüßÄÖÜ]",
        """
        aber als also am an auch auf aus bei beim bin bis bist da dann das dass dein deine deinem deinen
        deiner dem den denn der des dich die dies diese diesem diesen dieser dir doch du durch ein eine
        einem einen einer eines er es etwas euch euer eure fur gar gegen gibt hab habe haben hast hat
        hatte hatten hier ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist ja kann kannst
        konnen man mein meine meinem meinen meiner mich mir mit mochte muss nach nicht nichts noch nun
        nur ob oder ohne schon sehr seid sein seine seinem seinen seiner seit sich sie sind so soll um
        und uns unser unsere unserem unseren unserer unter viel vom von vor wann war waren warum was
        wegen weil welche welchem welchen welcher welches wem wen wenn wer werde werden wessen wie
        wieder wieso will wir wird wo woher wohin wollen wurde wurden zu zum zur
        """,
    ),
    _language(
        "french",
        "[àâçèêëîïôûùœÀÂÇÈÊËÎÔÛŒ]",
        """
        ai ainsi alors as au aussi autre aux avait avec avoir avons c ca car ce cela ces cet cette comme
        comment d dans de depuis des deux dois doit donc du elle elles en encore est et etaient etait
        etre eu faire fait fais font il ils j je l la le les leur leurs lui m ma mais me meme mes moi
        mon n ne nos notre nous on ont ou par pas plus pour pourquoi qu quand que quel quelle quelles
        quels qui quoi s sa sans se ses si soi son sont suis sur t ta te tes toi ton tous tout tres tu
        un une va vais vont vos votre vous y
        """,
    ),
    _language(
        "spanish",
        "[ñ¿¡íúÑ]",
        """
        a al algo alguien algun alguna antes aqui asi aun aunque cada como con cual cuales cuando cuanta
        cuantas cuanto cuantos de del desde donde e el ella ellas ellos en entre era eran es esa esas
        ese eso esos esta estaba estan estas este esto estos estoy fue fueron ha habia han has hasta hay
        he la las le les lo los mas me mi mis mucho muy nada ni no nos nosotros nuestra nuestras nuestro
        nuestros o os para pero por porque que quien quienes se ser si sido sin sobre son soy su sus
        tambien tan te tenemos tengo ti tiene tienen tienes todo todos tu tus un una unas uno unos y ya
        yo
        """,
    ),
    _language(
        "polish",
        "[ąęłńśźżćĄĘŁŃŚŹŻĆ]",
        """
        a albo ale bardzo beda bede bedzie bez bo by byc byl byla bylo byly bym chce ci cie co czego czy
        czyj czyja czyje czym dla dlaczego do gdy gdzie go i ich ile im ja jak jaka jaki jakich jakie
        jakiego jakiej jakim jako jego jej jest jestem jestes kiedy kim kogo komu kto ktora ktore
        ktorego ktorej ktory ktorych ktorym ku ma maja mam masz mi mna mnie moi moich moim moimi moj
        moja moje mojego mojej mojemu moze mu my na nad nam nas nasz nasza nasze naszego naszej nasi nia
        nich nic nie niego niej nim niz o od on ona one oni ono oraz po pod przed przez przy sa sie skad
        sobie swoj swoja swoje swojego swojej ta tak takze tam te tego tej ten tez to tu twoj twoja
        twoje ty tych tylko tym u w we wy z za ze
        """,
    ),
    _language(
        "hindi",
        "[\u0900-\u097f]",
        """
        अपना अपनी अपने अब आप इस इसका इसके उन उनका उनकी उनके उस उसका उसकी उसके एक और कब कर करता करती करते
        करना करने कहाँ कहां का कितना कितनी कितने किस किसका किसकी किसके किसने किसे की कुछ के कैसा कैसी
        कैसे को कोई कौन कौनसा क्या क्यों गई गए गया चाहिए जब जहाँ जो तक तब तो था थी थे दिया नहीं ने पर
        बहुत भी मुझे में मेरा मेरी मेरे मैं मैंने यह ये या रहता रहती रहते रहा रही रहे लिए लिया वह वे साथ
        सा सी से हम हमारा हमारी हमारे हमें ही हुआ हुई हुए हूँ हूं है हैं हो होता होती होते होना
        """,
    ),
)

LANGUAGES: Final = (ENGLISH, *_OTHERS)

_WORDS_READ: Final = 200
"""By the first of them a language is told."""
_UNTELLING: Final = frozenset("abcdefghijklmnopqrstuvxy") | word_set("""
    ai ale bin car den die dies era fait font gar go hast hat in las los man mit mas muss para plus pour
    sans sin si sol son soy sur ten war with
""")
"""A letter alone may be of a name (O'Brien) or a unit, but "w" and "z" are words of Polish only; the rest
are English words or parts of names, too."""
_BY_LETTERS: Final = 1
"""Letters of a language's own say as much as one more function word, and nothing alone: names have them in
every language."""

_UNSPACED_FUNCTIONS: Final = re.compile("[我你您他她它们們的了吗嗎呢吧是哪什么麼怎谁誰这這那在]+")
"""What a Chinese question holds beside its matter."""
_HIRAGANA_PAIR: Final = re.compile("[\u3041-\u309f]{2}")
"""Particles and endings of Japanese are written in hiragana."""


def language_of(text: str, words: Collection[str]) -> Language:
    """The language of a text, by its lower-case `words` without accents."""
    read = set(islice(words, _WORDS_READ)) - _UNTELLING
    best, most = ENGLISH, len(read & ENGLISH.function_words)
    is_ascii = text.isascii()
    for language in _OTHERS:
        count = len(read & language.function_words)
        if count and not is_ascii and language.letters.search(text):
            count += _BY_LETTERS
        if count > most:
            best, most = language, count
    return best


STOP_WORDS = ENGLISH.function_words

_FORMS = """
    become became; begin began begun; bend bent; bind bound; bite bit bitten; bleed bled; blow blew
    blown; break broke broken; breed bred; bring brought; build built; burn burnt; buy bought; catch
    caught; choose chose chosen; come came; deal dealt; dig dug; draw drew drawn; dream dreamt; drink
    drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt; fight fought;
    find found; flee fled; fly flew flown; forget forgot forgotten; forgive forgave forgiven; freeze
    froze frozen; get got gotten; give gave given; go went gone; grow grew grown; hang hung; hear heard;
    hide hid hidden; hold held; keep kept; kneel knelt; know knew known; lay laid; lead led; lean leant;
    leap leapt; learn learnt; leave left; lend lent; lie lain; light lit; lose lost; make made; mean
    meant; meet met; pay paid; prove proven; ride rode ridden; ring rang rung; rise rose risen; run ran;
    say said; see saw seen; seek sought; sell sold; send sent; sew sewn; shake shook shaken; shine
    shone; shoot shot; show shown; shrink shrank shrunk; sing sang sung; sink sank sunk; sit sat; sleep
    slept; slide slid; speak spoke spoken; spend spent; spin spun; spring sprang sprung; stand stood;
    steal stole stolen; stick stuck; strike struck; swear swore sworn; sweep swept; swim swam swum;
    swing swung; take took taken; teach taught; tear tore torn; tell told; think thought; throw threw
    thrown; understand understood; wake woke woken; wear wore worn; weave wove woven; weep wept; win
    won; wind wound; write wrote written; child children; man men; woman women; person people; foot
    feet; tooth teeth; mouse mice; wife wives; knife knives; behavior behaviour; center centre; color
    colour; favor favour; favorite favourite; gray grey; mom mum; neighbor neighbour; neighborhood
    neighbourhood; theater theatre
"""
BASE_FORMS: dict[str, str] = {
    form: base for base, *forms in map(str.split, _FORMS.split(";")) for form in forms
}
"""The base of an irregular verb's past, of an irregular plural, and one spelling of words that have two."""
ANALYSIS = 3
"""Version of what this file makes of a text; rows with another one are analysed anew."""

MAX_CHARACTERS = 1_000_000
"""Longer texts are searchable by their beginning: analysing costs a second per 5 million characters."""

MAX_TERM = 40
"""Characters of a term; longer runs are keys and hashes, for which their beginning is enough."""

TERM_BYTES = 8
"""Of a term's digest."""

_DIGESTS_KEPT = 1 << 15
"""Most words of a text are among so many that came lately."""

# Combining marks of the Latin, Greek and Cyrillic alphabets, Hebrew points and Arabic vowel signs:
# readers write words with and without them. The signs of Indic and Thai scripts are letters: kept.
_MARKS = re.compile("[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u065f\u0670]")
_INDIC_TO_KHMER = "\u0900-\u109f\u1780-\u17ff"
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORD = re.compile(rf"[{_UNSPACED}]+|(?:(?![{_UNSPACED}])(?:[^\W_]|[{_INDIC_TO_KHMER}]))+")
_UNLIKE_WORDS = re.compile(f"[{_UNSPACED}{_INDIC_TO_KHMER}]")
_PLAIN_WORD = re.compile(r"[^\W_]+")
"""The same as `_WORD` where a text has none of these, and twice as fast: dashes are everywhere."""
_ASCII_WORD = re.compile("[a-z0-9]+")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_NAME = re.compile(r"\b[^\W\d_a-z]\w+")
_UNSPACED_START = re.compile(f"[{_UNSPACED}]")


class _Stemmer(Protocol):
    def stemWords(self, words: list[str], /) -> list[str]: ...  # noqa: N802 - PyStemmer's name


class Analyzer:
    """Terms of texts and of questions. Safe to call from several threads."""

    def __init__(self) -> None:
        # A PyStemmer object keeps a cache and must stay in one thread.
        self._local = threading.local()
        self._digest = lru_cache(_DIGESTS_KEPT)(_digest)
        self._of_word = lru_cache(_DIGESTS_KEPT)(self._word_digests)
        self._term = lru_cache(_DIGESTS_KEPT)(self._stemmed)

    def document(self, text: str) -> list[str]:
        """The terms of an item, with repetitions, in reading order.

        Of a Chinese or Japanese run also the single ideographs, so that a
        question of one finds it.
        """
        words, runs = _split(text)
        language = language_of(text, words)
        terms = [term for word in words for term in self._forms(word[:MAX_TERM], language)]
        return terms + [pair for run in runs for pair in _pairs(run, single=True)]

    def question(self, text: str) -> list[str]:
        """The distinct terms of a question, by the rules of its language; names by English ones as well."""
        words, runs = _split(text)
        language = language_of(text, words)
        terms = [term for word in words if (term := self._term(word[:MAX_TERM], language))]
        if language is not ENGLISH:
            names = set(_split(" ".join(_NAME.findall(text)))[0])
            terms += [
                form for word in words if word in names for form in self._forms(word[:MAX_TERM], language)
            ]
        return list(dict.fromkeys(terms + _asked_pairs(runs, is_alone=not terms)))

    def words(self, text: str) -> set[str]:
        """The distinct terms of a text by English rules, whatever its language: for comparing texts."""
        return self.terms_of(text, (ENGLISH,))

    def terms_of(self, text: str, languages: Sequence[Language] = LANGUAGES) -> set[str]:
        """What words become in any of the languages, a run without spaces as in `document`."""
        words, runs = _split(text)
        terms = {self._term(word[:MAX_TERM], language) for language in languages for word in words}
        terms.update(pair for run in runs for pair in _pairs(run, single=True))
        terms.discard("")
        return terms

    def forms(self, words: Iterable[str], terms: AbstractSet[str]) -> set[str]:
        """Those of these words, of lower-case ASCII letters and digits, that become one of these terms.

        Few are stemmed: Snowball "english" takes endings away, and leaves a word's first letter.
        """
        initials = {term[:1] for term in terms}
        return {
            word
            for word in words
            if (word[0] in initials or word in BASE_FORMS) and self._term(word[:MAX_TERM], ENGLISH) in terms
        }

    def digests(self, terms: Iterable[str]) -> bytes:
        """`TERM_BYTES` for each term, in order: what an index keeps instead of words."""
        return b"".join(map(self._digest, terms))

    def document_digests(self, text: str) -> bytes:
        """The digests of what `document` gives: most words were seen lately, and are not stemmed again."""
        words, runs = _split(text)
        language = language_of(text, words)
        # Cut first: what is remembered must not be as long as somebody likes.
        terms = b"".join([self._of_word(word[:MAX_TERM], language) for word in words])
        return terms + self.digests(pair for run in runs for pair in _pairs(run, single=True))

    def _word_digests(self, word: str, language: Language) -> bytes:
        """The digests of what a word becomes; nothing of one that is left out."""
        return b"".join(map(_digest, self._forms(word, language)))

    def _forms(self, word: str, language: Language) -> list[str]:
        """What a word becomes by the rules of a language and by English ones, if it is not left out."""
        own = self._term(word, language)
        if language is ENGLISH or not own:
            return [own] if own else []
        english = self._term(word, ENGLISH)
        return [own, english] if english and english != own else [own]

    def _stemmed(self, word: str, language: Language) -> str:
        """What a word becomes by the rules of a language; "" of one that is left out."""
        if word in language.function_words:
            return ""
        base = BASE_FORMS.get(word) or word if language is ENGLISH else word
        (term,) = self._stemmer(language).stemWords([base[:MAX_TERM]])
        return term

    def _stemmer(self, language: Language) -> _Stemmer:
        stemmers: dict[str, _Stemmer] = self._local.__dict__
        stemmer = stemmers.get(language.name)
        if stemmer is None:
            import Stemmer

            # PyStemmer ships no types; `_Stemmer` says what is used of it.
            made = Stemmer.Stemmer(language.name)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
            stemmer = stemmers[language.name] = cast("_Stemmer", made)
        return stemmer


def _split(text: str) -> tuple[list[str], list[str]]:
    """The words of a text, and its runs without spaces."""
    text = text[:MAX_CHARACTERS]
    if text.isascii():
        return _ASCII_WORD.findall(text.lower()), []
    folded = _folded(text)
    if not _UNLIKE_WORDS.search(folded):
        return _PLAIN_WORD.findall(folded), []
    found: list[str] = _WORD.findall(folded)
    words = [word for word in found if not _UNSPACED_START.match(word)]
    return words, [run for run in found if _UNSPACED_START.match(run)]


def _asked_pairs(runs: Sequence[str], *, is_alone: bool) -> list[str]:
    """The pairs of a question's runs, without its function words unless that leaves nothing to ask for."""
    parts = [part for run in runs for part in _UNSPACED_FUNCTIONS.split(run) if part]
    pairs = [pair for part in parts for pair in _pairs(part, single=False)]
    kept = [pair for pair in pairs if len(pair) > 1 or _HAN.match(pair)]
    if telling := [pair for pair in kept if not _HIRAGANA_PAIR.fullmatch(pair)]:
        return telling
    return [pair for run in runs for pair in _pairs(run, single=False)] if is_alone else []


def _digest(term: str) -> bytes:
    return hashlib.blake2b(term.encode(), digest_size=TERM_BYTES).digest()


def _folded(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    # Composed again, so that Korean syllables and Japanese voiced kana are one character each.
    return unicodedata.normalize("NFC", _MARKS.sub("", decomposed)).casefold()


def _pairs(run: str, *, single: bool) -> Iterator[str]:
    if len(run) == 1:
        yield run
    elif single:
        yield from _HAN.findall(run)
    for first, second in pairwise(run):
        yield first + second


SCALE: Final = 32_767
"""A component of a vector, -1..1, is kept as a whole number of 1/`SCALE`: half the bytes of a float32,
and a cosine moves by some hundred-thousandths."""


class Names(NamedTuple):
    """Whose and of what an item is, and when it held."""

    conversation: str | None = None
    project: str | None = None
    speaker: str | None = None
    held_from: int | None = None
    held_until: int | None = None
    part_of: str | None = None


class ShardEntry(NamedTuple):
    """What a shard needs of an item.

    `terms` are the digests of its words, in reading order (`Analyzer.digests`);
    `vector` is `quantized`, one or several, and `model` the `model_key` of what
    made it: both empty or neither.
    """

    id: str
    kind: str
    at: int
    names: Names
    terms: bytes
    model: str | None
    vector: bytes


class EmbeddedText(NamedTuple):
    """What an index keeps of a text with its vector, as in `ShardEntry`."""

    terms: bytes
    model: str
    vector: bytes


class Entries(NamedTuple):
    """Entries, field by field: so they are read from rows and added to arrays most quickly."""

    ids: Sequence[str]
    kinds: Sequence[str]
    at: Sequence[int]
    names: Sequence[Names]
    terms: Sequence[bytes]
    models: Sequence[str | None]
    vectors: Sequence[bytes]


def entry_of(id: str, item: IndexItem, analyzer: Analyzer) -> ShardEntry:
    """The entry of an item.

    Raises:
        BadInput: the text holds a lone surrogate.
        ValueError: the vector is not one of its model.
    """
    check_text(item.text)
    vector = b"" if item.vector is None else vector_bytes(item.vector, item.model)
    return ShardEntry(
        id,
        item.kind,
        item.at,
        Names(item.conversation, item.project, item.speaker, item.held_from, item.held_until, item.part_of),
        analyzer.document_digests(item.text),
        None if not vector or item.model is None else model_key(item.model),
        vector,
    )


def embedded(
    text: str, vector: NDArray[np.float32], model: EmbeddingModel, *, analyzer: Analyzer
) -> EmbeddedText:
    """A text with its vector.

    Raises:
        ValueError: the vector is not one of the model.
    """
    return EmbeddedText(analyzer.document_digests(text), model_key(model), vector_bytes(vector, model))


def check_text(text: str) -> None:
    """Refuse what no database keeps as text.

    Raises:
        BadInput: it holds a lone surrogate.
    """
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise BadInput(
                "A text holds half of a character (a lone surrogate); remove or replace it."
            ) from error


def item_of(text: str, entry: ShardEntry) -> IndexItem:
    """The item of an entry and its text; its vectors have the shape (m, d)."""
    model = None if entry.model is None else model_of(entry.model)
    vector = None if model is None else vectors_of(entry.vector, model)
    return IndexItem(entry.kind, text, entry.at, vector, model, *entry.names)


def model_of(key: str) -> EmbeddingModel:
    """The model of a `model_key`."""
    rest, dimensions = key.rsplit("|", 1)
    id, _, tokenizer = rest.partition("|")
    return EmbeddingModel(id, tokenizer, int(dimensions))


def vectors_of(body: bytes, model: EmbeddingModel) -> NDArray[np.float32]:
    """The vectors of `vector_bytes`, shape (m, d)."""
    import numpy as np  # heavy: whoever asks for vectors works with them

    vectors = np.frombuffer(body, "<i2").reshape(-1, model.dimensions).astype(np.float32)
    vectors /= SCALE
    return vectors


def model_key(model: EmbeddingModel) -> str:
    """One text per model: vectors compare only where these are equal."""
    return f"{model.id}|{model.tokenizer}|{model.dimensions}"


def dimensions_of(key: str) -> int:
    """How long the vectors of the model of this `model_key` are."""
    return int(key.rpartition("|")[2])


def vector_bytes(vector: NDArray[np.float32], model: EmbeddingModel | None) -> bytes:
    """The vector as it is kept, or several one after the other.

    Raises:
        ValueError: it is not float32 of the model's length, or has no model.
    """
    is_one_of = (
        model is not None
        and vector.dtype.str == "<f4"
        and vector.ndim in {1, 2}
        and vector.size
        and vector.shape[-1] == model.dimensions
    )
    if not is_one_of:
        raise ValueError(f"a vector {vector.dtype} {vector.shape} is not one of {model}")
    return quantized(vector)


def quantized(vector: NDArray[np.float32]) -> bytes:
    """Each component, -1..1, as a little-endian 16-bit integer."""
    return (vector * SCALE).round().astype("<i2").tobytes()
