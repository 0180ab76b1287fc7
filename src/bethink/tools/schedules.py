"""The tools over schedules: what is to happen by itself, and when."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, Field

from bethink.errors import UnknownId
from bethink.field_checks import given_fields
from bethink.schedules.due_times import timing_words
from bethink.schedules.service import MAX_TEXT_CHARS, MAX_TITLE_CHARS, MAX_URL_CHARS, ScheduleDraft, Schedules
from bethink.tool import Foretold, Tool, ToolContext, ToolOutput, tool, tools_in

if TYPE_CHECKING:
    from bethink.feature import Surroundings
    from bethink.principal import Principal
    from bethink.schedules.records import Schedule

_schedule_tool = partial(tool, rare=True, family="schedules")
_LATER = (
    "remind", "reminder", "schedule", "every", "daily", "weekly", "hourly", "watch", "notify",
    "tell when", "alert",
    "erinner", "jede", "jeden", "täglich", "wöchentlich", "stündlich", "beobacht",
    "sag bescheid", "benachrichtig",
)  # fmt: skip
_HELD = ("schedule", "reminder", "erinnerung", "zeitplan")
_CHANGED = (*_HELD, "snooze", "pause", "resume", "stop reminding", "später erinner")
"""What people say who want a tool."""
_LISTED = 50
_DONE_BY: dict[str, str] = {
    "remind": "Reminder",
    "run": "Run of the agent",
    "watch": "Watched page",
}
_LASTING = "what it asks for is done later without anybody watching, and words from outside stand here"

Text = Annotated[
    str, Field(max_length=MAX_TEXT_CHARS, description='What to remind of, or the agent\'s task; "" for watch')
]
When = Annotated[
    str, Field(max_length=300, description="The user's words: in 20 minutes, every weekday at 8; or ISO 8601")
]
Title = Annotated[str, Field(max_length=MAX_TITLE_CHARS, description="Short title")]
ScheduleId = Annotated[str, Field(max_length=100, description="Id from list_schedules")]


class ScheduleOut(BaseModel):
    """A schedule; `when` says how the time was understood."""

    id: str
    title: str
    action: Literal["remind", "run", "watch"]
    when: str
    next_at: int | None
    paused: bool
    last: str | None


class SchedulesOut(BaseModel):
    """Some schedules."""

    schedules: list[ScheduleOut]


class ScheduleDeleted(BaseModel):
    """The id of what is gone."""

    deleted: str


def tools_of(at: Surroundings) -> list[Tool]:
    """`create_schedule`, `list_schedules`, `update_schedule` and `delete_schedule`."""
    return tools_in(ScheduleTools(at.features.of(Schedules)))


@dataclass(frozen=True, slots=True)
class ScheduleTools:
    """The tools over an owner's schedules."""

    schedules: Schedules

    @_schedule_tool(
        effect="write", label="Schedule “{text}”: {when}", may_ask=True, output=ScheduleOut, cues=_LATER
    )
    async def create_schedule(
        self,
        context: ToolContext,
        text: Text,
        when: When,
        action: Annotated[Literal["remind", "run", "watch"], Field(description="What happens")] = "remind",
        url: Annotated[str, Field(max_length=MAX_URL_CHARS, description="Page to watch")] = "",
        title: Title = "",
    ) -> ToolOutput | Foretold:
        """Have something happen later or regularly: remind the user, run the agent, or watch a page.

        If the time is ambiguous, ask the user.
        """
        if (asked := _asked(context, action, text or url)) is not None:
            return Foretold(given_fields(text=text, when=when, action=action, url=url, title=title), asked)
        draft = ScheduleDraft(
            text=text,
            when=when,
            action=action,
            url=url,
            title=title,
            conversation=context.conversation,
            untrusted=context.is_untrusted and not context.approved,
        )
        made = (await self.schedules.create(context.principal, draft)).record
        return _output("Scheduled", made, context.principal)

    @_schedule_tool(effect="read", label="List schedules", output=SchedulesOut, cues=_HELD)
    async def list_schedules(self, context: ToolContext) -> ToolOutput:
        """List reminders, scheduled runs and watched pages, with when they are due and how they last went."""
        page = await self.schedules.list(context.principal, limit=_LISTED)
        found = [item.record for item in page.items]
        structured = {"schedules": [_shown(one, context.principal) for one in found]}
        if not found:
            return ToolOutput("Nothing is scheduled.", structured=structured)
        more = "\nThere are more; the page of schedules shows all." if page.cursor else ""
        lines = "\n".join(_line(one, context.principal) for one in found)
        untrusted = any(one.untrusted for one in found)
        return ToolOutput(f"{lines}{more}", structured=structured, untrusted=untrusted)

    @_schedule_tool(
        effect="write", label="Change schedule {schedule_id}", may_ask=True, output=ScheduleOut, cues=_CHANGED
    )
    async def update_schedule(
        self,
        context: ToolContext,
        schedule_id: ScheduleId,
        when: Annotated[str | None, Field(max_length=300, description="As in create_schedule")] = None,
        text: Annotated[str | None, Field(max_length=MAX_TEXT_CHARS, description="New text or task")] = None,
        title: Annotated[str | None, Field(max_length=MAX_TITLE_CHARS, description="New title")] = None,
        url: Annotated[str | None, Field(max_length=MAX_URL_CHARS, description="New page to watch")] = None,
        paused: Annotated[bool | None, Field(description="true pauses it, false resumes it")] = None,
    ) -> ToolOutput | Foretold:
        """Change, pause or resume a schedule; what is left out stays."""
        given = given_fields(when=when, text=text, title=title, url=url, paused=paused)
        was = (await self.schedules.get(context.principal, schedule_id)).record
        if text is not None or url is not None:
            asked = _asked(context, was.action, text or url or "")
            if asked is not None:
                return Foretold({"schedule_id": schedule_id, **given}, asked)
        untrusted = context.is_untrusted and not context.approved
        held = await self.schedules.update(context.principal, schedule_id, given, untrusted=untrusted)
        return _output("Changed", held.record, context.principal)

    async def _foretell(self, principal: Principal, arguments: dict[str, Any]) -> Foretold:
        try:
            schedule = (await self.schedules.get(principal, arguments["schedule_id"])).record
        except UnknownId:
            return Foretold(arguments, "")
        return Foretold(arguments, _line(schedule, principal))

    @_schedule_tool(
        effect="destructive",
        label="Delete schedule {schedule_id}",
        foretell=_foretell,
        output=ScheduleDeleted,
        cues=("delete schedule", "delete reminder", "stop reminding", "lösch erinnerung"),
    )
    async def delete_schedule(self, context: ToolContext, schedule_id: ScheduleId) -> ToolOutput:
        """Delete a schedule with its history. To stop it for a while, pause it instead."""
        gone = await self.schedules.delete(context.principal, schedule_id)
        text = f"Deleted: {gone.title}"
        return ToolOutput(text, structured={"deleted": gone.id}, untrusted=gone.untrusted)


def _asked(context: ToolContext, action: str, what: str) -> str | None:
    """What the owner has to agree to first: none but they decide what is done later in their name."""
    if action == "remind" or context.approved or not context.is_untrusted:
        return None
    return f"{_DONE_BY[action]}: {what}\nIt needs your agreement: {_LASTING}."


def _output(head: str, schedule: Schedule, principal: Principal) -> ToolOutput:
    return ToolOutput(
        f"{head}: {_line(schedule, principal)}",
        structured=_shown(schedule, principal),
        untrusted=schedule.untrusted,
    )


def _line(schedule: Schedule, principal: Principal) -> str:
    last = f"; last: {schedule.last.outcome}" if schedule.last else ""
    when = timing_words(schedule, principal.time_zone)
    return f"{_DONE_BY[schedule.action]} “{schedule.title}”: {when}{last} (id {schedule.id})"


def _shown(schedule: Schedule, principal: Principal) -> dict[str, Any]:
    return {
        "id": schedule.id,
        "title": schedule.title,
        "action": schedule.action,
        "when": timing_words(schedule, principal.time_zone),
        "next_at": schedule.next_at,
        "paused": schedule.paused,
        "last": schedule.last and schedule.last.outcome,
    }
