"""Readers of four public sets of long conversations with questions about them.

`bench.recall` measures on what they give. No set is shipped: a path leads to
the file or directory as its makers publish it. Every reader keeps the words
and the dates as they are; evidence names turns.

- LoCoMo: Maharana et al. 2024, `locomo10.json` or a file a conversation.
- REALTALK: Lee et al. 2025, `data/Chat_*.json`.
- BEAM: Tavakoli et al. 2025, `chats/100K`, a directory a conversation.
- LongMemEval: Wu et al. 2024, `longmemeval_s.json` and its sisters.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from bethink.clock import to_us
from bethink.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One message. `id` is the set's own; `session` groups what was said in one go."""

    id: str
    session: str
    text: str
    at: int
    role: Role = "user"
    speaker: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A question as it is asked, and the ids of the turns that answer it."""

    text: str
    category: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dialogue:
    """Everything two speakers said, oldest first, and what is asked about it `now`."""

    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]
    now: int


def read_dialogues(path: Path, form: str) -> list[Dialogue]:
    """All dialogues at a path, in the order of their names.

    Raises:
        BadInput: the form is unknown, or the files are not of that form.
    """
    reader = FORMATS.get(form)
    if reader is None:
        message = f"Unknown format {form!r}: there are {', '.join(FORMATS)}."
        raise BadInput(message)
    try:
        dialogues = list(reader(path))
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"{path} is not of the format {form}: {type(error).__name__}: {error}"
        raise BadInput(message) from error
    if not dialogues:
        message = f"{path} holds no {form} conversation."
        raise BadInput(message)
    return dialogues


def _files(path: Path, pattern: str) -> list[Path]:
    return sorted(path.glob(pattern)) if path.is_dir() else [path]


def _json(file: Path) -> Any:  # noqa: ANN401 - JSON of others
    return json.loads(file.read_text(encoding="utf-8"))


# --- LoCoMo and REALTALK: people in sessions ------------------------------------

_EVIDENCE = re.compile(r"D\d+:\d+")
_SESSION = re.compile(r"session_(\d+)")
LOCOMO_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}


def _locomo(path: Path) -> Iterator[Dialogue]:
    for file in _files(path, "*.json"):
        data = _json(file)
        for number, sample in enumerate([data] if "qa" in data else data):
            name = sample.get("sample_id") or (file.stem if not number else f"{file.stem}-{number}")
            yield _of_people(name, sample, _locomo_turn)


def _realtalk(path: Path) -> Iterator[Dialogue]:
    for file in _files(path, "Chat_*.json"):
        yield _of_people(file.stem, _json(file), _realtalk_turn)


def _of_people(
    name: str, sample: Mapping[str, Any], turn: Callable[[dict[str, Any], str, datetime], Turn]
) -> Dialogue:
    turns: list[Turn] = []
    sessions: Mapping[str, Any] = sample.get("conversation", sample)
    numbers = sorted(int(found[1]) for key in sessions if (found := _SESSION.fullmatch(key)))
    for session in (f"session_{number}" for number in numbers):
        began = _date(sessions[f"{session}_date_time"])
        turns += [
            turn(said, session, began + timedelta(seconds=30 * place))
            for place, said in enumerate(sessions[session])
        ]
    known = {turn.id for turn in turns}
    questions = tuple(
        Question(
            one["question"],
            LOCOMO_CATEGORIES.get(int(one["category"]), str(one["category"])),
            tuple(id for id in dict.fromkeys(_EVIDENCE.findall(str(one.get("evidence", "")))) if id in known),
        )
        for one in sample["qa"]
    )
    return Dialogue(name, tuple(turns), questions, _a_day_after(turns))


def _locomo_turn(said: dict[str, Any], session: str, at: datetime) -> Turn:
    caption = said.get("blip_caption")
    text = f"{said['text']} [image: {caption}]" if caption else said["text"]
    return Turn(said["dia_id"], session, text, to_us(at), speaker=said["speaker"])


def _realtalk_turn(said: dict[str, Any], session: str, at: datetime) -> Turn:
    at = _date(said["date_time"]) if said.get("date_time") else at
    return Turn(said["dia_id"], session, said["clean_text"], to_us(at), speaker=said["speaker"])


# --- BEAM: the owner and an assistant --------------------------------------------

_MARK = re.compile(r"\s*->->.*$", re.DOTALL)
"""At the end of the owner's messages: which bullet of its plan one was made from."""


def _beam(path: Path) -> Iterator[Dialogue]:
    directories = sorted(chat.parent for chat in path.rglob("chat.json"))
    for directory in directories:
        turns = _beam_turns(_json(directory / "chat.json"))
        known = {turn.id for turn in turns}
        asked = _json(directory / "probing_questions" / "probing_questions.json")
        questions = tuple(
            Question(
                one["question"],
                category,
                tuple(
                    id
                    for id in dict.fromkeys(map(str, _leaves(one.get("source_chat_ids", []))))
                    if id in known
                ),
            )
            for category, several in asked.items()
            for one in several
        )
        yield Dialogue(f"beam-{directory.name}", tuple(turns), questions, _a_day_after(turns))


def _beam_turns(batches: list[dict[str, Any]]) -> list[Turn]:
    turns: list[Turn] = []
    at = datetime(2024, 1, 1, tzinfo=UTC)
    for batch in batches:
        for said in (said for exchange in batch["turns"] for said in exchange):
            if said.get("time_anchor"):
                at = max(at, _date(said["time_anchor"]))
            text = _MARK.sub("", said["content"])
            turns.append(Turn(str(said["id"]), str(batch["batch_number"]), text, to_us(at), said["role"]))
            at += timedelta(minutes=1)
    return turns


def _leaves(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        value = list(value.values())  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON of others
    if isinstance(value, list):
        for one in value:  # pyright: ignore[reportUnknownVariableType] - JSON of others
            yield from _leaves(one)  # pyright: ignore[reportUnknownArgumentType] - JSON of others
    else:
        yield value


# --- LongMemEval: a history a question ---------------------------------------------


def _longmemeval(path: Path) -> Iterator[Dialogue]:
    for file in _files(path, "*.json"):
        yield from map(_history, _json(file))


def _history(one: dict[str, Any]) -> Dialogue:
    turns: list[Turn] = []
    evidence: list[str] = []
    sessions = zip(one["haystack_session_ids"], one["haystack_dates"], one["haystack_sessions"], strict=True)
    for place, (session, date, messages) in enumerate(sessions):
        for number, said in enumerate(messages):
            at = _date(date) + timedelta(seconds=30 * number)
            id = f"{place}:{session}#{number}"
            turns.append(Turn(id, f"{place}:{session}", said["content"], to_us(at), said["role"]))
            if said.get("has_answer"):
                evidence.append(id)
    turns.sort(key=lambda turn: turn.at)
    name = one["question_id"]
    category = "abstention" if name.endswith("_abs") else one["question_type"]
    question = Question(one["question"], category, tuple(evidence))
    return Dialogue(name, tuple(turns), (question,), to_us(_date(one["question_date"])))


FORMATS: dict[str, Callable[[Path], Iterator[Dialogue]]] = {
    "locomo": _locomo,
    "beam": _beam,
    "realtalk": _realtalk,
    "longmemeval": _longmemeval,
}

_DATES = (
    "%I:%M %p on %d %B, %Y",  # LoCoMo
    "%d.%m.%Y, %H:%M:%S",  # REALTALK
    "%B-%d-%Y",  # BEAM
    "%Y/%m/%d (%a) %H:%M",  # LongMemEval
)


def _date(text: str) -> datetime:
    for form in _DATES:
        try:
            return datetime.strptime(text.strip(), form).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise ValueError(f"{text!r} is no date of these sets")


def _a_day_after(turns: list[Turn]) -> int:
    return max(turn.at for turn in turns) + 86_400_000_000
