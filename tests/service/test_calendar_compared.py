"""What a month holds, as Bethink and recurring-ical-events find it in the same calendar."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

import pytest

from benchmarks import planner_corpus
from benchmarks.planner import asked_peer
from bethink.calendar.series import instances
from bethink.clock import to_datetime, to_us, zone_of
from tests.server_process import ROOT

PEER = ROOT / ".servers" / "caldav" / "bin" / "python"
pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.foreign(make="servers"),
    pytest.mark.skipif(
        not PEER.exists() and "CI" not in os.environ, reason="`make servers` makes its environment"
    ),
]


@pytest.mark.requirement("R150", "C21")
def test_both_find_the_same_instances_in_every_month(tmp_path: Path) -> None:
    zone = zone_of("Europe/Berlin")
    made = [*islice(planner_corpus.events(), 1_500)]
    begins = [
        to_datetime(planner_corpus.CREATED_US).replace(month=month, tzinfo=zone)
        for month in (1, 3, 4, 10, 11)
    ]
    ranges = [(to_us(one), to_us(one.replace(month=one.month + 1))) for one in begins]
    theirs = asked_peer(PEER, tmp_path, made=made, ranges=ranges)["ranges"]
    for (low, high), other in zip(ranges, theirs, strict=True):
        ours = sorted(
            [
                one.title,
                *(_written(local, at) for local, at in ((one.start, one.starts_at), (one.end, one.ends_at))),
            ]
            for event in made
            for one in instances(event, low=low, high=high, zone=zone)
        )
        assert len(ours) > 100
        assert ours == other["found"]


def _written(local: str, at: int) -> str:
    return to_datetime(at).isoformat() if "T" in local else local
