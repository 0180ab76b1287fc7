"""`GET /settings`: what this Bethink was told at its start, without any secret."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, Field

from bethink import __version__
from bethink.agent.commands import MODEL_HELP
from bethink.web.deps import Caller, Served

router = APIRouter(tags=["settings"])


class Bounds(BaseModel):
    """What one run may spend at most; see the settings of the same names."""

    max_steps: int
    max_tool_calls: int
    max_run_tokens: int
    max_run_cost_usd: float
    max_seconds: float
    max_repeated_calls: int
    max_message_chars: int
    tool_timeout_s: float


class SettingsShown(BaseModel):
    """The settings in force."""

    model: str | None = Field(description="`provider:name`; null where none is set.")
    model_help: str = Field(description="How to set a model, and which one was found on this machine.")
    memory_agent: str = Field(description="The model that the memory agent of the vault asks, in words.")
    fallbacks: list[str]
    models: list[str] = Field(
        description="What a conversation may choose its model from, the usual one first."
    )
    data_dir: str
    version: str
    time_zone: str
    recall_limit: int
    tools_enabled: bool
    bounds: Bounds


@router.get("/settings")
async def get_settings(app: Served, _: Caller) -> SettingsShown:
    """The settings in force, without keys. Where no model is set, one on this machine is looked for."""
    settings, chosen = app.settings, app.given.chosen
    found = None if app.ports.llm else await chosen.probing.find()
    help_text = MODEL_HELP if found is None else f"{found.offer} {MODEL_HELP}"
    return SettingsShown(
        model=app.ports.llm.name if app.ports.llm else None,
        model_help=help_text,
        memory_agent=chosen.told(settings.vault.agent_model),
        fallbacks=settings.model_fallbacks,
        models=list(app.models.names()),
        data_dir=str(settings.data_dir),
        version=__version__,
        time_zone=settings.time_zone,
        recall_limit=settings.recall_limit,
        tools_enabled=settings.tools_enabled,
        bounds=Bounds(
            max_steps=settings.max_steps,
            max_tool_calls=settings.max_tool_calls,
            max_run_tokens=settings.max_run_tokens,
            max_run_cost_usd=settings.max_run_cost_usd,
            max_seconds=settings.max_run_s,
            max_repeated_calls=settings.max_repeated_calls,
            max_message_chars=settings.max_message_chars,
            tool_timeout_s=settings.tool_timeout_s,
        ),
    )
