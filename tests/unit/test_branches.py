"""Where the lines of a conversation part: the arithmetic, against a tree that is kept whole."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.conversations.records import (
    MAX_BRANCHES,
    Conversation,
    StoredMessage,
    appended,
    continued,
    edited,
    is_on_line,
    line,
    siblings,
    switched,
)
from bethink.errors import BadInput, UnknownId
from bethink.messages import UserMessage

pytestmark = pytest.mark.requirement("R107")


@dataclass
class Tree:
    """A conversation's record, its messages, and beside them whose child each message is."""

    held: Conversation = field(
        default_factory=lambda: Conversation(id="c", title="T", created_at=0, updated_at=0)
    )
    stored: list[StoredMessage] = field(default_factory=list[StoredMessage])
    parents: dict[str, str | None] = field(default_factory=dict[str, "str | None"])
    active: list[str] = field(default_factory=list[str])
    tails: dict[int, list[str]] = field(default_factory=dict[int, "list[str]"])

    def append(self) -> None:
        message = StoredMessage(
            id=str(len(self.stored)),
            conversation="c",
            position=self.held.count,
            branch=self.held.branch,
            at=0,
            run="",
            message=UserMessage("Hi"),
        )
        self.held = appended(self.held, [message], at=0, active_run=None)
        self.stored.append(message)
        self.parents[message.id] = self.active[-1] if self.active else None
        self.active.append(message.id)
        self.tails[self.held.branch] = list(self.active)

    def path_to(self, id: str) -> list[str]:
        path = [id]
        while (parent := self.parents[path[0]]) is not None:
            path.insert(0, parent)
        return path

    def shown(self) -> list[str]:
        """The active line, as the ranges of the record give it."""
        return [
            message.id
            for one in reversed(line(self.held))
            for message in sorted(self.stored, key=lambda message: message.position)
            if message.branch == one.branch and one.start <= message.position < one.end
        ]

    def do(self, step: tuple[str, int]) -> None:
        action, which = step
        if action == "append" or not self.stored:
            self.append()
            return
        chosen = self.stored[which % len(self.stored)]
        match action:
            case "edit":
                self.held = edited(self.held, chosen)
                self.active = self.path_to(chosen.id)[:-1]
                self.append()
            case "continue":
                self.held = continued(self.held, chosen)
                self.active = self.path_to(chosen.id)
                self.tails.setdefault(self.held.branch, list(self.active))
            case _:
                number = which % (len(self.held.branches) or 1)
                self.held = switched(self.held, number)
                self.active = list(self.tails[number])


_STEPS = st.lists(
    st.tuples(st.sampled_from(["append", "append", "edit", "continue", "switch"]), st.integers(0, 50)),
    max_size=30,
)


@given(_STEPS)
def test_the_active_line_is_the_path_to_its_last_message_whatever_was_edited(
    steps: list[tuple[str, int]],
) -> None:
    tree = Tree()
    for step in steps:
        tree.do(step)
        assert tree.shown() == tree.active
        assert tree.held.count == len(tree.active)
        on_line = [message.id for message in tree.stored if is_on_line(tree.held, message)]
        assert sorted(on_line) == sorted(tree.active)


@given(_STEPS)
def test_siblings_are_the_messages_that_answer_the_same_one(steps: list[tuple[str, int]]) -> None:
    tree = Tree()
    for step in steps:
        tree.do(step)
    for message in tree.stored:
        same = [other for other in tree.stored if tree.parents[other.id] == tree.parents[message.id]]
        found = siblings(tree.held, message)
        if len(same) == 1:
            assert found is None
        else:
            assert found is not None
            assert sorted(found.branches) == sorted(other.branch for other in same)
            assert found.branches[found.index] == message.branch
            reached = [switched(tree.held, number) for number in found.branches]
            assert all(any(is_on_line(held, other) for other in same) for held in reached)


def test_to_branch_again_from_the_same_place_without_a_word_makes_no_branch() -> None:
    tree = Tree()
    for _ in range(4):
        tree.append()
    once = continued(tree.held, tree.stored[1])
    assert (once.branch, once.count) == (1, 2)
    assert continued(once, tree.stored[1]) == once
    assert continued(once, tree.stored[3]).branch == 0


def test_a_branch_that_is_not_there_is_unknown_and_one_too_many_is_refused() -> None:
    tree = Tree()
    tree.append()
    with pytest.raises(UnknownId, match="no branch 1"):
        switched(tree.held, 1)
    for _ in range(MAX_BRANCHES - 1):
        tree.do(("edit", 0))
    with pytest.raises(BadInput, match="500 branches"):
        tree.do(("edit", 0))
