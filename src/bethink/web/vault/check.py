"""`/vault/check`: what is wrong in the vault, and what would mend it. For the owner's own page alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from fastapi import APIRouter
from pydantic import BaseModel, Field

from bethink.errors import BadInput, NoSuchPage, NotAllowed, TooLarge
from bethink.principal import OWN_EYES
from bethink.vault.checks.check import KINDS, Kind
from bethink.vault.checks.repair import RepairOption, Way
from bethink.web.deps import Body, Caller, ResponseModel, Served
from bethink.web.problems import documented
from bethink.web.vault.pages import MAX_PATH, PathField, VaultChange

if TYPE_CHECKING:
    from bethink.principal import Principal

router = APIRouter(prefix="/vault/check", tags=["vault"])

_OWNER: Final = (
    "The vault is checked on the owner's own page and in their terminal only: a check sees everything."
)


class ChoiceBody(Body):
    """One of the ways out that a check offered."""

    way: Way
    path: PathField
    target: Annotated[str, Field(max_length=MAX_PATH, description="The name that a broken link has.")] = ""
    to: Annotated[
        str, Field(max_length=MAX_PATH, description="Page led to, made or merged into; new path; encoding.")
    ] = ""


class RepairBody(ChoiceBody):
    """A way out that was shown."""

    id: Annotated[str, Field(max_length=100, description="That of the plan that was shown.")]


class VaultChoice(ResponseModel):
    """A way to mend something; `said` tells which, `is_sure` that it leaves no doubt."""

    way: Way
    path: str
    target: str
    to: str
    said: str
    is_sure: bool


class VaultFinding(ResponseModel):
    """Something that is wrong: in which line (from 1; 0 for the whole page), and names that may be meant.

    What mends several findings at once is offered with the first of them.
    """

    kind: Kind
    path: str
    line: int
    said: str
    near: list[str]
    choices: list[VaultChoice]


class VaultReport(BaseModel):
    """What was found, by path, and what would mend it; nothing of what is `ignored`."""

    findings: list[VaultFinding]
    ignored: list[Kind]


class IgnoredBody(Body):
    """What a check is to say nothing of."""

    kinds: Annotated[list[Kind], Field(max_length=len(KINDS))]


class VaultStep(ResponseModel):
    """What would become of a page, in words and as a diff."""

    said: str
    path: str
    diff: str = Field(
        description="Unified, as patch(1) reads it; of a page that is new or goes, the first lines."
    )


class VaultPlan(BaseModel):
    """All that a choice would do; `id` stands for exactly this."""

    id: str
    steps: list[VaultStep]


class VaultMended(BaseModel):
    """What was done; `undo` are the tokens that take it back, in this order."""

    changes: list[VaultChange]
    undo: list[str]


@router.get("", responses=documented(403))
async def check_vault(app: Served, caller: Caller) -> VaultReport:
    """Broken links, pages twice, odd names, files that cannot be read, each with what would mend it."""
    _must_be_owner(caller)
    report = await app.vault_tools.checking.check(caller.owner)
    findings = [VaultFinding.of(one) for one in report.findings]
    ignored = list(report.ignored)
    if "memory_line" in ignored:
        return VaultReport(findings=findings, ignored=ignored)
    # Lines of memories wait for their owner, too; line 0 is one that the page does not have now.
    for problem in (await app.mirror.report(caller.owner)).problems:
        try:
            text = (await app.vault.read(caller.owner, problem.path)).text
        except (BadInput, NoSuchPage, TooLarge):
            text = ""
        at = text.find(f"^{problem.line}") if problem.line else -1
        line = text.count("\n", 0, at) + 1 if at >= 0 else 0
        findings.append(
            VaultFinding(
                kind="memory_line", path=problem.path, line=line, said=problem.why, near=[], choices=[]
            )
        )
    return VaultReport(findings=findings, ignored=ignored)


@router.put("/ignored", status_code=204, responses=documented(403))
async def ignore_in_checks(body: IgnoredBody, app: Served, caller: Caller) -> None:
    """Say nothing of these kinds of findings from now on; an empty list is all of them again."""
    _must_be_owner(caller)
    await app.vault_tools.checking.ignore(caller.owner, body.kinds)


@router.post("/plan", responses=documented(400, 403, 404, 409))
async def plan_repair(body: ChoiceBody, app: Served, caller: Caller) -> VaultPlan:
    """Show what a choice would do; nothing changes."""
    _must_be_owner(caller)
    plan = await app.vault_tools.checking.mending.plan(caller.owner, RepairOption(**body.given()))
    return VaultPlan(id=plan.id, steps=[VaultStep.of(step) for step in plan.shown])


@router.post("/repair", responses=documented(400, 403, 404, 409))
async def repair_vault(body: RepairBody, app: Served, caller: Caller) -> VaultMended:
    """Make the previewed repair, completely or not at all, as changes that can be undone."""
    _must_be_owner(caller)
    made = await app.vault_tools.checking.mending.make(caller, RepairOption(**body.given("id")), body.id)
    return VaultMended(changes=[VaultChange.of(one) for one in made.changes], undo=list(made.undo))


def _must_be_owner(caller: Principal) -> None:
    if caller.audience not in OWN_EYES:
        raise NotAllowed(_OWNER)
