"""`bethink schedules`: reminders, runs and watched pages that happen by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bethink.cli.commands import YES, Commands, arg
from bethink.cli.exits import Exit
from bethink.cli.terminal import UNASKED, one_line, rfc3339
from bethink.errors import BadInput

if TYPE_CHECKING:
    from argparse import Namespace

    from bethink.cli.session import Session
    from bethink.schedules.records import Schedule
    from bethink.schedules.service import Schedules
    from bethink.store import Versioned

_EPILOG = """\
examples:
  bethink schedules add "Call Bruna" "in 20 minutes"
  bethink schedules add "Give me my day" "every weekday at 8" --action run
  bethink schedules add "" "every Monday at 9" --action watch --url https://example.org/news
  bethink schedules snooze ID "in 10 minutes"

Schedules happen while `bethink serve` runs; what was due while it was off is told at its start."""
COMMANDS = Commands(_EPILOG)
_ID = arg("id ID", "the schedule's id, as `list` shows it")


def _schedules(session: Session) -> Schedules:
    from bethink.schedules.service import Schedules

    return session.app.features.of(Schedules)


@COMMANDS.add(
    "add",
    arg("text TEXT", "what to remind of, or what the agent is to do"),
    arg("when WHEN", "in words or as ISO 8601: `tomorrow at 9`, `every weekday at 8`"),
    arg("--action remind|run|watch", "what happens (remind)", default="remind"),
    arg("--url URL", "page to watch"),
    arg("--title TITLE", "what it is called"),
    arg("--budget TOKENS", "tokens that one run may use at most", type=int),
    arg("--missed once|skip", "what becomes of what was due while Bethink was off (once)", default="once"),
)
def _add(session: Session, options: Namespace) -> None:
    """Have something happen later or regularly."""
    from bethink.schedules.service import ScheduleDraft

    draft = ScheduleDraft(
        text=options.text,
        when=options.when,
        action=options.action,
        url=options.url or "",
        title=options.title or "",
        budget_tokens=options.budget,
        missed=options.missed,
    )
    _tell(session, session.mine(_schedules(session).create, draft))


@COMMANDS.add("list")
def _list(session: Session, _: Namespace) -> None:
    """List schedules, the newest first."""
    held = [*session.each(_schedules(session).list, limit=200)]
    for item in held:
        _tell(session, item)
    if not held:
        session.screen.remark("Nothing is scheduled.")


@COMMANDS.add("show", _ID)
def _show(session: Session, options: Namespace) -> None:
    """Show a schedule in full."""
    held = session.mine(_schedules(session).get, options.id)
    _tell(session, held)
    schedule = held.record
    for name, value in (("text", schedule.text), ("url", schedule.url), ("results", schedule.results)):
        if value:
            session.screen.remark(f"{name}: {value}")
    if schedule.last is not None:
        session.screen.remark(f"last: {schedule.last.outcome} {schedule.last.error}".strip())


@COMMANDS.add("pause", _ID)
def _pause(session: Session, options: Namespace) -> None:
    """Have a schedule wait until it is resumed."""
    _tell(session, session.mine(_schedules(session).pause, options.id))


@COMMANDS.add("resume", _ID)
def _resume(session: Session, options: Namespace) -> None:
    """Have a paused schedule go on."""
    _tell(session, session.mine(_schedules(session).resume, options.id))


@COMMANDS.add("run", _ID)
def _run(session: Session, options: Namespace) -> None:
    """Have a schedule happen now; `bethink serve` does it."""
    _tell(session, session.mine(_schedules(session).run_now, options.id))


@COMMANDS.add("snooze", _ID, arg("when WHEN", "until when: `in 10 minutes`, `tomorrow at 9`"))
def _snooze(session: Session, options: Namespace) -> None:
    """Have a schedule happen at another time, once; then it goes on as usual."""
    from bethink.schedules.due_times import understood

    schedules = _schedules(session)
    timing = understood(options.when, schedules.clock.now_us(), session.principal.time_zone)
    if timing.at is None:
        raise BadInput("Say one moment until which it is to wait, such as: in 10 minutes.")
    _tell(session, session.mine(schedules.snooze, options.id, timing.at))


@COMMANDS.add("history", _ID, arg("--limit N", "how many (20)", type=int, default=20))
def _history(session: Session, options: Namespace) -> None:
    """Show what came of a schedule, the newest first."""
    page = session.mine(_schedules(session).history, options.id, limit=max(options.limit, 1))
    for item in page.items:
        run = item.record
        told = run.error or run.message
        line = f"{rfc3339(run.due_at)}  {run.outcome}  {one_line(told)}".rstrip()
        session.screen.result({"due_at": rfc3339(run.due_at), "outcome": run.outcome, "told": told}, line)
    if not page.items:
        session.screen.remark("It has not happened yet.")


@COMMANDS.add("delete", _ID, YES)
def _delete(session: Session, options: Namespace) -> Exit | None:
    """Delete a schedule with its history."""
    screen, schedules = session.screen, _schedules(session)
    title = one_line(session.mine(schedules.get, options.id).record.title)
    question = f"Delete “{title}” with its history? [y/N] "
    if not screen.confirmed(question, yes=options.yes, refusal=UNASKED):
        return Exit.FAILED
    session.mine(schedules.delete, options.id)
    screen.result({"deleted": options.id}, f"Deleted: {title}")
    return None


@COMMANDS.add("notices", arg("--unseen", "only those that were not seen yet"))
def _notices(session: Session, options: Namespace) -> None:
    """Show what you were told, the newest first."""
    page = session.mine(_schedules(session).notices, unseen=options.unseen)
    for item in page.items:
        notice = item.record
        result = {"id": notice.id, "at": rfc3339(notice.at), "title": notice.title, "text": notice.text}
        session.screen.result(
            result, f"{rfc3339(notice.at)}  {one_line(notice.title)}  {one_line(notice.text)}"
        )
    if not page.items:
        session.screen.remark("There are no notices.")


@COMMANDS.add(
    "delivery",
    arg("--email ADDRESS", "where to send notices; empty for nowhere"),
    arg("--webhook URL", "where to post notices; empty for nowhere"),
    arg("--quiet HOURS", "hours without notices: 22:00-07:00; empty for none"),
    arg("--new-secret", "make a new secret for the webhook"),
    arg("--try", "send a notice by all that is set up", dest="is_trial"),
    json="the report",
)
def _delivery(session: Session, options: Namespace) -> None:
    """Show and say where notices go, in addition to the page."""
    import msgspec

    from bethink.schedules.delivery import DeliveryChange

    schedules, unset = _schedules(session), msgspec.UNSET
    change = DeliveryChange(
        email=unset if options.email is None else options.email,
        webhook_url=unset if options.webhook is None else options.webhook,
        quiet_hours=unset if options.quiet is None else options.quiet,
        new_webhook_secret=options.new_secret,
    )
    secret = ""
    if change != DeliveryChange():
        _, secret = session.mine(schedules.outbox.change, change)
    settings = session.mine(schedules.outbox.settings)
    quiet = str(schedules.outbox.quiet_hours or "") if settings.quiet_hours is None else settings.quiet_hours
    browsers = len(session.mine(schedules.outbox.subscriptions))
    result = {
        "email": settings.email,
        "webhook_url": settings.webhook_url,
        "webhook_secret": secret or None,
        "quiet_hours": quiet,
        "browsers": browsers,
    }
    told = {"e-mail": settings.email, "webhook": settings.webhook_url, "quiet hours": quiet}
    lines = [f"{name}: {value or 'none'}" for name, value in told.items()]
    session.screen.result(result, *lines, f"browsers: {browsers}")
    if secret:
        session.screen.remark(f"The webhook's secret, shown once: {secret}", "yellow")
    if options.is_trial:
        session.mine(schedules.try_delivery)
        session.screen.remark("A notice is on its way; `bethink serve` sends it.")


def _tell(session: Session, held: Versioned[Schedule]) -> None:
    from bethink.schedules.due_times import timing_words

    schedule = held.record
    when = timing_words(schedule, session.principal.time_zone)
    result: dict[str, Any] = {
        "id": schedule.id,
        "title": schedule.title,
        "action": schedule.action,
        "when": when,
        "next_at": rfc3339(schedule.next_at),
        "paused": schedule.paused,
        "last": schedule.last and schedule.last.outcome,
    }
    session.screen.result(result, f"{schedule.id}  {schedule.action}  {one_line(schedule.title)}  {when}")
