"""iCalendar's lines, values and zones: what other programs write is read, bounded, and written the same."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.errors import BadInput, TooLarge
from bethink.ical.lines import MAX_BYTES, Component, components, parsed, read, written
from bethink.ical.values import duration, escaped, texts, unescaped, when, written_duration, written_when
from bethink.ical.zones import UnknownZone, described, named_zone, zone_of


def _calendar(*lines: str) -> bytes:
    return "\r\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", *lines, "END:VCALENDAR", ""]).encode()


def _event(*lines: str) -> Component:
    (calendar,) = read(_calendar("BEGIN:VEVENT", *lines, "END:VEVENT")).calendars
    return calendar.parts[0]


def test_lines_are_written_as_they_were_read() -> None:
    """Parameters, quotes and unknown names stay; only the case of the name is made one."""
    lines = [
        "UID:1",
        'ATTENDEE;CN="Doe, J";X-A=b,"c;d":mailto:j@example.org',
        "X-APPLE-STRUCTURED-LOCATION;VALUE=URI;X-RADIUS=70:geo:1.0,2.0",
        "DESCRIPTION:a\\, b\\; c\\nd\\\\",
    ]
    assert [str(line) for line in _event(*lines).lines] == lines


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=300))
def test_any_text_survives_folding_and_escaping(text: str) -> None:
    """No line has more than 75 octets, and none cuts a character in two."""
    folded = written(["BEGIN:VCALENDAR", f"SUMMARY:{escaped(text)}", "END:VCALENDAR"]).encode()
    assert all(len(line) <= 75 for line in folded.split(b"\r\n"))
    for line in folded.split(b"\r\n"):
        line.decode()
    assert unescaped(read(folded).calendars[0].lines[0].value) == text


@given(st.binary(max_size=400))
def test_no_bytes_break_the_reader(content: bytes) -> None:
    """Whatever stands in a file: it is read, or refused with a sentence."""
    assert read(b"BEGIN:VCALENDAR\r\nX-A:1\r\n" + content).calendars
    with suppress(BadInput):
        read(content)


def test_a_line_folded_within_a_character_is_joined_before_it_is_decoded() -> None:
    """Programs fold by octets (RFC 5545, 3.1)."""
    content = _calendar("BEGIN:VEVENT", "SUMMARY:Grüße", "END:VEVENT")
    at = content.index("ü".encode()) + 1
    folded = content[:at] + b"\r\n " + content[at:]
    assert read(folded).calendars[0].parts[0].value("SUMMARY") == "Grüße"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_files_of_other_encodings_are_read(encoding: str) -> None:
    """UTF-8 is the standard's; what is none is told of."""
    content = _calendar("BEGIN:VEVENT", "SUMMARY:Grüße", "END:VEVENT").decode().encode(encoding)
    reading = read(content)
    assert reading.calendars[0].parts[0].value("SUMMARY") == "Grüße"
    assert bool(reading.problems) == (encoding == "cp1252")


def test_lines_broken_without_folding_are_the_rest_of_the_one_before() -> None:
    """Some programs write the line breaks of a description as they are."""
    reading = read(_calendar("BEGIN:VEVENT", "DESCRIPTION:one", "two words", "LOCATION:x", "END:VEVENT"))
    event = reading.calendars[0].parts[0]
    assert unescaped(event.value("DESCRIPTION")) == "one\ntwo words"
    assert event.value("LOCATION") == "x"
    assert reading.problems == ["Line 5 was read as the rest of the one before it."]


def test_what_is_nested_too_deep_is_left_out() -> None:
    """Without recursion, and with what stands behind it."""
    deep = ["BEGIN:X-A"] * 50_000 + ["END:X-A"] * 50_000
    reading = read(_calendar("BEGIN:VEVENT", "UID:1", *deep, "SUMMARY:after", "END:VEVENT"))
    assert reading.calendars[0].parts[0].value("SUMMARY") == "after"
    assert sum(1 for _ in reading.calendars[0].walk()) == 10
    assert "deeper than 10" in reading.problems[0]


def test_a_file_that_ends_in_the_middle_gives_what_it_holds() -> None:
    """And says so."""
    reading = read(b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nSUMMARY:x")
    assert reading.calendars[0].parts[0].value("UID") == "1"
    assert "cut short" in reading.problems[0]


def test_a_file_that_is_too_large_or_no_calendar_is_refused() -> None:
    """With what to do."""
    with pytest.raises(TooLarge, match="10 MB"):
        read(b"x" * (MAX_BYTES + 1))
    with pytest.raises(BadInput, match="no calendar file"):
        read(b"BEGIN:VCARD\nEND:VCARD\n")


def test_parameters_are_taken_apart_and_put_together() -> None:
    """RFC 6868 for what a parameter cannot hold."""
    line = parsed("ATTENDEE;CN=\"A ^'B^' C\";ROLE=CHAIR:mailto:a@example.org")
    assert line is not None
    assert line.parameter("CN") == 'A "B" C'
    assert str(line.but(CN='X "Y"', ROLE=None)) == "ATTENDEE;CN=X ^'Y^':mailto:a@example.org"


@pytest.mark.parametrize(
    "value", ["20261399", "20260230T090000Z", "20260101T250000", "tomorrow", "", "2026-01-01"]
)
def test_impossible_times_are_refused_with_what_is_written_instead(value: str) -> None:
    """The sentence names the value."""
    with pytest.raises(BadInput, match="DTSTART"):
        when(value, name="DTSTART")


def test_times_are_written_as_they_were_read() -> None:
    """Dates, local times, UTC; a leap second is the last of its minute."""
    for value in ("20261204", "20261204T170000", "20261204T170000Z", "00010101"):
        assert written_when(when(value)) == value
    assert written_when(when("20161231T235960Z")) == "20161231T235959Z"


def test_durations_are_read_and_written() -> None:
    """Weeks, days and times, before and after."""
    assert duration("-P1DT2H3M").total_seconds() == -93_780
    assert duration("P2W").days == 14
    for minutes in (0, 15, -15, 90, -1440, 1501):
        assert duration(written_duration(minutes)).total_seconds() == minutes * 60
    for wrong in ("P", "PT", "15M", "P1Y"):
        with pytest.raises(BadInput, match="no duration"):
            duration(wrong)


def test_lists_of_texts_keep_escaped_commas() -> None:
    """CATEGORIES may hold them."""
    assert texts("a\\, b,c,,d\\\\,e") == ["a, b", "c", "d\\", "e"]


@pytest.mark.parametrize(
    ("name", "zone"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        ("europe/berlin", "Europe/Berlin"),
        ("W. Europe Standard Time", "Europe/Berlin"),
        ("/freeassociation.sourceforge.net/America/Argentina/Ushuaia", "America/Argentina/Ushuaia"),
        ("GMT", "UTC"),
        ("Customized Time Zone", None),
    ],
)
def test_zones_are_known_by_the_names_that_programs_give_them(name: str, zone: str | None) -> None:
    """IANA's, Windows', and paths that end in one."""
    assert named_zone(name) == zone


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Sydney"])
def test_a_zone_of_an_unknown_name_is_known_by_its_rules(zone: str) -> None:
    """What we write of a zone is understood without its name, here too."""
    (description,) = components("\n".join(described([zone], 2026)))
    found = zone_of("Customized Time Zone", description, 2026)
    assert described([found], 2026)[2:] == described([zone], 2026)[2:]


def test_rules_that_no_zone_has_are_refused_not_guessed() -> None:
    """A wrong hour would be worse."""
    lines = ["BEGIN:VTIMEZONE", "TZID:Mars", "BEGIN:STANDARD", "DTSTART:19700101T000000"]
    lines += ["TZOFFSETFROM:+0017", "TZOFFSETTO:+0017", "END:STANDARD", "END:VTIMEZONE"]
    (description,) = components("\n".join(lines))
    for given_zone in (description, None):
        with pytest.raises(UnknownZone, match="Mars"):
            zone_of("Mars", given_zone, 2026)
