"""The records of people, as a feature."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.feature import Feature, OpenFeature
from bethink.people.documents import people_form
from bethink.people.records import EMAILS, PEOPLE
from bethink.people.service import People
from bethink.people.texts import people_texts

if TYPE_CHECKING:
    from bethink.feature import Surroundings


def _open(at: Surroundings) -> OpenFeature:
    texts = people_texts(at.store)
    return OpenFeature(
        service=People(at.store, at.clock, at.new_id),
        forgettable=texts.forgettable,
        cut=texts.cut,
        documents=[people_form(at.store)],
    )


FEATURE = Feature(
    name="people",
    open=_open,
    collections=(PEOPLE, EMAILS),
    counted={"people": ("person", PEOPLE)},
    tools="bethink.tools.people",
    routes="bethink.web.people",
    commands="bethink.cli.people",
    mcp_summary=("Records of people whom the user knows (users management). Card numbers come back masked."),
)
