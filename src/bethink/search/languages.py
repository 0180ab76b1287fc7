"""The languages whose words are stemmed, and in which of them a text is, by its function words and letters.

`analysis` asks for every text. A text that none is told of counts as English. Function words are written
without accents, as texts are when they are compared. Of each language they are those that carry no matter:
articles, pronouns, prepositions, auxiliaries, question words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection


@dataclass(frozen=True, slots=True)
class Language:
    """`name` is Snowball's; `letters` stand in no text of the others here."""

    name: str
    letters: re.Pattern[str]
    function_words: frozenset[str]


def _language(name: str, letters: str, words: str) -> Language:
    return Language(name, re.compile(letters), frozenset(words.split()))


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
_ENGLISH_TOO: Final = """
    ai ale bin car den die dies era fait font gar go hast hat in las los man mit mas muss para plus pour
    sans sin si sol son soy sur ten war with
"""
_UNTELLING: Final = frozenset("abcdefghijklmnopqrstuvxy") | frozenset(_ENGLISH_TOO.split())
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


def matter_of(run: str) -> list[str]:
    """The parts of a question's run without spaces that say what it is about."""
    return [part for part in _UNSPACED_FUNCTIONS.split(run) if part]


def is_function_pair(pair: str) -> bool:
    """Whether a pair of characters most likely is a particle or an ending."""
    return _HIRAGANA_PAIR.fullmatch(pair) is not None
