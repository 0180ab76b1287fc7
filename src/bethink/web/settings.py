"""`GET /settings`: what this Bethink was told at its start, without any secret."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import Field

from bethink import __version__
from bethink.agent.start import MODEL_HELP
from bethink.web.deps import Caller, ResponseModel, Served

router = APIRouter(tags=["settings"])


class Bounds(ResponseModel):
    """What one run may spend at most; see the settings of the same names."""

    max_steps: int
    max_tool_calls: int
    max_run_tokens: int
    max_run_cost_usd: float
    max_seconds: float
    max_repeated_calls: int
    max_message_chars: int
    tool_timeout_s: float


class SettingsShown(ResponseModel):
    """The settings in force."""

    model: str | None = Field(description="`provider:name`; null if none is set.")
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
    settings, models = app.settings, app.models
    found = None if app.ports.llm else await models.probing.find()
    help_text = MODEL_HELP if found is None else f"{found.offer} {MODEL_HELP}"
    return SettingsShown.of(
        settings,
        model=app.ports.llm.name if app.ports.llm else None,
        model_help=help_text,
        memory_agent=models.told(settings.vault.agent_model),
        fallbacks=settings.model_fallbacks,
        models=models.names(),
        data_dir=str(settings.data_dir),
        version=__version__,
        bounds=Bounds.of(settings, max_seconds=settings.max_run_s),
    )
