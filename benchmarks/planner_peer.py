"""recurring-ical-events, measured by its own Python: `PYTHON planner_peer.py FOLDER ZONE`.

`planner` starts it. It imports nothing of Bethink, which is not installed there.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo


def main(folder: str, zone: str) -> None:
    """Write how long each range of `ranges.json` took in `calendar.ics`, and what was found in it."""
    icalendar: Any = importlib.import_module("icalendar")
    recurring: Any = importlib.import_module("recurring_ical_events")
    started = time.perf_counter()
    calendar = icalendar.Calendar.from_ical((Path(folder) / "calendar.ics").read_bytes())
    parsed = time.perf_counter()
    query = recurring.of(calendar)
    told: dict[str, Any] = {"parse_ms": (parsed - started) * 1000, "ranges": []}
    for low, high in json.loads((Path(folder) / "ranges.json").read_text(encoding="utf-8")):
        begin, end = (datetime.fromtimestamp(at / 1_000_000, ZoneInfo(zone)) for at in (low, high))
        began = time.perf_counter()
        found = query.between(begin, end)
        took = (time.perf_counter() - began) * 1000
        said = [[str(one["SUMMARY"]), _at(one["DTSTART"].dt), _at(one["DTEND"].dt)] for one in found]
        told["ranges"].append({"ms": took, "found": sorted(said)})
    (Path(folder) / "peer.json").write_text(json.dumps(told), encoding="utf-8")


def _at(moment: date) -> str:
    if isinstance(moment, datetime):
        return moment.astimezone(UTC).isoformat()
    return moment.isoformat()


if __name__ == "__main__":
    main(*sys.argv[1:])
