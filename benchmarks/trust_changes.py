"""Cases of what the model says of a new fact and an old one. Part of `bench.trust`.

Changes, corrections and repetitions, told in a chat in the words that people use, most of which no rule
knows. The model that plays along does what the prompt asks: it names the old memory by the id that it was
given, with the message or in the answer of its first call.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

from benchmarks.trust_stage import DAY_S, Case, Stage
from bethink.clock import to_datetime
from bethink.llm.scripted import ScriptedCall
from bethink.messages import ToolMessage, UserMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bethink.llm import LlmRequest
    from bethink.llm.scripted import Answer

Link = Literal["replaces", "corrects", "repeats"]
_Told = tuple[str, str, str, str]

_CHANGES: Final[tuple[_Told, ...]] = (
    ("I'm at Acme.", "User works at Acme.", "I switched jobs, it's Globex now.", "User is with Globex."),
    ("I drive a Golf.", "User drives a Golf.", "I sold the Golf.", "User sold the Golf."),
    (
        "I run every morning.",
        "User runs every morning.",
        "My knee put an end to running.",
        "User gave up running.",
    ),
    ("I'm with Jo.", "User is together with Jo.", "Jo and I split up.", "User and Jo have separated."),
    (
        "My flat is in Graz.",
        "User has a flat in Graz.",
        "We settled in Linz last week.",
        "User settled in Linz.",
    ),
    ("I eat meat.", "User eats meat.", "I've gone vegan.", "User went vegan."),
    ("I study law.", "User studies law.", "I graduated!", "User graduated in law."),
    ("I have a cat, Miso.", "User has a cat, Miso.", "Miso died yesterday.", "User's cat Miso died."),
    ("I pay 900 in rent.", "User pays 900 in rent.", "They raised it to 1100.", "The flat costs 1100 now."),
    ("I take the tram.", "User commutes by tram.", "These days I cycle in.", "User cycles to the office."),
    ("I'm learning Greek.", "User is learning Greek.", "I dropped Greek.", "User dropped Greek."),
    ("My boss is Ada.", "Ada is the user's boss.", "Ben took over from Ada.", "Ben leads the user's team."),
    (
        "Ich arbeite bei Acme.",
        "Nutzer arbeitet bei Acme.",
        "Ich habe gewechselt, zu Globex.",
        "Nutzer ist bei Globex.",
    ),
    (
        "Ich fahre einen Golf.",
        "Nutzer fährt einen Golf.",
        "Den Golf habe ich verkauft.",
        "Nutzer hat kein Auto mehr.",
    ),
    ("Wir wohnen in Bonn.", "User lives in Bonn.", "Wir sind nach Kiel gezogen.", "User's home is Kiel."),
    ("Ich rauche.", "User smokes.", "Ich habe endlich aufgehört.", "User stopped smoking."),
    (
        "Pracuję w banku.",
        "User works in a bank.",
        "Zmieniłam pracę, teraz szpital.",
        "User works in a hospital.",
    ),
    (
        "Mieszkam w Gdyni.",
        "Użytkownik mieszka w Gdyni.",
        "Przeprowadziłem się do Łodzi.",
        "Użytkownik mieszka w Łodzi.",
    ),
    ("Mam psa Reksa.", "User has a dog, Reks.", "Reks już nie żyje.", "User's dog Reks has died."),
    ("我在银行工作。", "用户在银行工作。", "我换工作了，现在在医院。", "用户现在在医院工作。"),
    ("我住在北京。", "User lives in Beijing.", "我搬到上海了。", "User moved to Shanghai."),
    ("J'habite à Lyon.", "User lives in Lyon.", "On a déménagé à Nantes.", "L'utilisateur habite à Nantes."),
    ("Trabajo en Acme.", "User works at Acme.", "Ahora estoy en Globex.", "Usuario está en Globex."),
)
_CORRECTIONS: Final[tuple[_Told, ...]] = (
    ("My sister is Bruno.", "User's sister is Bruno.", "No, I meant Bruna.", "User's sister is Bruna."),
    ("I was born in 1988.", "User was born in 1988.", "I was wrong: 1989.", "User's year of birth is 1989."),
    (
        "I'm allergic to nuts.",
        "User is allergic to nuts.",
        "Not nuts, mites!",
        "User has an allergy to mites.",
    ),
    ("I have two kids.", "User has two kids.", "You misheard: three.", "User is a parent of three."),
    (
        "The flight is on 3 May.",
        "User flies on 3 May.",
        "Sorry, it's the 13th.",
        "User's flight is on 13 May.",
    ),
    (
        "My dentist is Weiss.",
        "User's dentist is Weiss.",
        "It's Weise, I misspelt it.",
        "User goes to the dentist Weise.",
    ),
    (
        "I play the viola.",
        "User plays the viola.",
        "I said cello, not viola.",
        "User's instrument is the cello.",
    ),
    ("I'm from Bern.", "User comes from Bern.", "No no, Basel.", "User is from Basel."),
    (
        "Anna is my aunt.",
        "Anna is the user's aunt.",
        "She's my cousin, actually.",
        "Anna is a cousin of the user.",
    ),
    ("I owe Tom 50.", "User owes Tom 50 euros.", "My mistake, it was 15.", "User's debt to Tom is 15 euros."),
    (
        "The code name is Iris.",
        "User's project is called Iris.",
        "Typo: Irish.",
        "User's project has the name Irish.",
    ),
    ("I like jazz.", "User likes jazz.", "Never said jazz. Blues.", "User is into blues."),
    (
        "Meine Tochter heißt Lea.",
        "Nutzers Tochter heißt Lea.",
        "Nein, Leah mit h.",
        "Nutzers Tochter ist Leah.",
    ),
    ("Ich bin 1990 geboren.", "User was born in 1990.", "Quatsch, 1991.", "User's birth year is 1991."),
    (
        "Mein Arzt ist Dr. Kern.",
        "Nutzers Arzt ist Dr. Kern.",
        "Ich meinte Dr. Korn.",
        "Nutzer ist bei Dr. Korn.",
    ),
    ("Ich komme aus Ulm.", "User comes from Ulm.", "Falsch, aus Köln.", "User is from Cologne."),
    (
        "Mój brat to Jan.",
        "User's brother is Jan.",
        "Nie, pomyliłem się: Janusz.",
        "User's brother is Janusz.",
    ),
    (
        "Urodziłam się w Łomży.",
        "User was born in Łomża.",
        "Nie w Łomży, w Łodzi.",
        "User's birthplace is Łódź.",
    ),
    ("Lubię kawę.", "Użytkownik lubi kawę.", "Miałam na myśli herbatę.", "Użytkownik woli herbatę."),
    ("我妹妹叫小红。", "用户的妹妹叫小红。", "不对，叫小虹。", "用户的妹妹名字是小虹。"),
    ("我是1988年出生的。", "User was born in 1988.", "说错了，是1989年。", "User's year of birth is 1989."),
    ("Mon chien s'appelle Rex.", "User's dog is called Rex.", "Non, Max !", "User's dog is Max."),
    ("Vivo en el 3º.", "User lives on the 3rd floor.", "Perdón, en el 5º.", "User's flat is on floor 5."),
)
_REPETITIONS: Final[tuple[_Told, ...]] = (
    (
        "I have a dog, Rex.",
        "User has a dog, Rex.",
        "Rex, my dog, barks.",
        "A dog called Rex belongs to the user.",
    ),
    ("I live in Graz.", "User lives in Graz.", "Here in Graz it rains.", "User's home town is Graz."),
    ("I can't eat nuts.", "User cannot eat nuts.", "Nuts would kill me.", "User is allergic to nuts."),
    ("I teach maths.", "User teaches maths.", "My maths class was loud.", "User is a maths teacher."),
    ("I hate flying.", "User hates flying.", "Planes scare me.", "User is afraid of planes."),
    ("I have two sons.", "User has two sons.", "Both my boys are ill.", "User is the parent of two boys."),
    ("I drive a Golf.", "User drives a Golf.", "My Golf broke down.", "User's car is a VW Golf."),
    ("I'm a vegetarian.", "User is a vegetarian.", "I don't eat meat.", "User does not eat meat."),
    ("I study law.", "User studies law.", "Law school is hard.", "User is a law student."),
    ("My wife is Ada.", "User's wife is Ada.", "I'm married to Ada.", "User is married to Ada."),
    ("I play the cello.", "User plays the cello.", "Cello practice again.", "User is a cellist."),
    ("I get up at six.", "User gets up at six.", "My alarm rings at 6.", "User's day begins at 6:00."),
    ("Ich wohne in Bonn.", "User lives in Bonn.", "Hier in Bonn ist es schön.", "Nutzers Wohnort ist Bonn."),
    ("Ich habe einen Hund.", "User has a dog.", "Mein Hund bellt.", "Dem Nutzer gehört ein Hund."),
    ("Ich bin Lehrerin.", "User is a teacher.", "Ich unterrichte.", "Nutzerin unterrichtet an einer Schule."),
    ("Ich mag Tee.", "User likes tea.", "Tee ist mein Getränk.", "Nutzer trinkt gern Tee."),
    ("Mieszkam w Łodzi.", "User lives in Łódź.", "Tu w Łodzi pada.", "Domem użytkownika jest Łódź."),
    ("Mam dwa koty.", "User has two cats.", "Moje koty śpią.", "Użytkownik ma dwa koty."),
    ("Jestem lekarką.", "User is a doctor.", "Pracuję jako lekarka.", "Użytkowniczka pracuje jako lekarka."),
    ("我有一只猫。", "User has a cat.", "我的猫在睡觉。", "用户养了一只猫。"),
    ("我喜欢喝茶。", "User likes to drink tea.", "茶是我的最爱。", "用户最爱喝茶。"),
    (
        "J'ai deux filles.",
        "User has two daughters.",
        "Mes filles jouent.",
        "L'utilisateur est père de deux filles.",
    ),
    ("Soy médico.", "User is a physician.", "Trabajo de médico.", "El usuario trabaja de médico."),
)
_GIVEN: Final = re.compile(r'"id":"(m\d+)"[^\n]*"text":"([^\n]*)"\}')
_NEAR: Final = re.compile(r"^- \[(m\d+)\] (.+)$", re.MULTILINE)


def change_cases() -> Iterator[Case]:
    """All of them."""
    links: tuple[tuple[str, Link, tuple[_Told, ...]], ...] = (
        ("change", "replaces", _CHANGES),
        ("correction", "corrects", _CORRECTIONS),
        ("repetition", "repeats", _REPETITIONS),
    )
    for kind, link, lives in links:
        for told in lives:
            check = partial(_lived, told=told, link=link)
            yield Case(kind, f"{told[0]} {told[2]}", check, script=_player(told, link))


def _player(told: _Told, link: Link) -> Callable[[LlmRequest], Answer]:
    """A model that stores each fact, and names the old one as soon as it knows its id."""
    _, old, said_new, new = told

    def play(request: LlmRequest) -> Answer:
        (*_, asked) = [message for message in request.messages if isinstance(message, UserMessage)]
        answers = [message.content for message in request.messages if isinstance(message, ToolMessage)]
        if not asked.content.endswith(said_new):
            return "Noted." if answers else ScriptedCall("store_memory", {"content": old})
        known = [
            *_GIVEN.findall(asked.content),
            *(found for text in answers for found in _NEAR.findall(text)),
        ]
        id = next((label for label, text in known if text == old), None)
        if id is not None and not any("(" in text.partition("\n")[0] for text in answers):
            return ScriptedCall("store_memory", {"content": new, link: [id]})
        return "Noted." if answers else ScriptedCall("store_memory", {"content": new})

    return play


async def _lived(stage: Stage, *, told: _Told, link: Link) -> str | None:
    """One of the two is in use; the other is past, was never true, or is the same one."""
    said_old, old, said_new, new = told
    await stage.tell("User collects stamps from Peru.")
    await stage.tell("User's printer is an old Canon.")
    await stage.say(said_old)
    told_at = stage.clock.now_us()
    stage.clock.advance(40 * DAY_S)
    await stage.say(said_new)
    states = {fact.content: fact.state for fact in await stage.facts() if fact.content in {old, new}}
    wanted = {
        "replaces": {old: "superseded", new: "active"},
        "corrects": {old: "corrected", new: "active"},
        "repeats": {old: "active"},
    }[link]
    if link == "repeats":
        states = {content: state for content, state in states.items() if state == "active"}
    if states != wanted:
        return f"ended as {states}"
    then = [hit.text for hit in await stage.ask(old, as_of=to_datetime(told_at + DAY_S * 1_000_000))]
    if link != "repeats" and (old in then) is not (link == "replaces"):
        return f"a day after it was told there was true: {then}"
    if link == "corrects" and any(old in hit.text for hit in await stage.ask(f"{old} What was it before?")):
        return "what never was true is told"
    return None
