"""`/settings`: what holds, where from, and its changes. Secrets go in and never come out."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field, RootModel

from bethink import __version__
from bethink.accounts import ADMIN
from bethink.agent.start import MODEL_HELP
from bethink.app import App
from bethink.configuration import SettingState
from bethink.principal import Principal
from bethink.settings.catalogue import schemas, shown
from bethink.settings.groups import GROUPS
from bethink.web.deps import Caller, ResponseModel, Served, Timestamp
from bethink.web.problems import documented

router = APIRouter(tags=["settings"])

Brief = Annotated[bool, Query(description="Without every setting and its schema, which are most of it.")]


class Bounds(ResponseModel):
    """What one run may spend, and one message or file hold, at most; see the settings of the same names."""

    max_steps: int
    max_tool_calls: int
    max_run_tokens: int
    max_run_cost_usd: float
    max_seconds: float
    max_repeated_calls: int
    max_message_chars: int
    max_file_bytes: int
    tool_timeout_s: float


class SettingShown(ResponseModel):
    """A setting, what holds and where that comes from."""

    name: str
    group: str
    title: str
    description: str
    json_schema: dict[str, Any] = Field(
        alias="schema", description="JSON schema of its value; null puts the default back."
    )
    value: Any = Field(description="Null for a secret, and while none is set.")
    default: Any
    is_set: bool
    source: Literal["flag", "environment", "file", "kept", "default"]
    source_name: str | None = Field(description="The variable, or the file.")
    editable: bool = Field(description="False if something stronger than the page sets it.")
    secret: bool
    restart: bool = Field(description="Whether a change holds from the next start.")


class GroupShown(ResponseModel):
    """A place of settings."""

    id: str
    title: str
    description: str


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
    settings: list[SettingShown] = Field(description="Every setting; empty for who is no administrator.")
    groups: list[GroupShown]
    pending_restart: list[str] = Field(description="Settings whose change holds from the next start.")


class SettingsBody(RootModel[dict[str, Any]]):
    """Names of settings with their new values; null puts the default back."""


class ChangeShown(ResponseModel):
    """That a setting was changed; of a secret only that."""

    at: Timestamp
    by: str
    door: str
    name: str
    old: Any
    new: Any


class ChangesShown(BaseModel):
    """The log of changes, the newest first."""

    changes: list[ChangeShown]


@router.get("/settings")
async def get_settings(app: Served, caller: Caller, *, brief: Brief = False) -> SettingsShown:
    """The settings in force, without keys. Where no model is set, one on this machine is looked for."""
    return await _shown(app, caller, brief=brief)


@router.patch("/settings", responses=documented(403))
async def change_settings(body: SettingsBody, app: Served, caller: Caller) -> SettingsShown:
    """Change settings, all or none; `pending_restart` names what holds from the next start."""
    await app.configuration.change(caller, body.root)
    return await _shown(app, caller)


@router.get("/settings/changes", responses=documented(403))
async def list_setting_changes(app: Served, _: Caller) -> ChangesShown:
    """Who changed which setting, and when."""
    return ChangesShown(changes=[ChangeShown.of(change) for change in app.configuration.changes])


async def _shown(app: App, caller: Principal, *, brief: bool = False) -> SettingsShown:
    settings, models = app.settings, app.models
    found = None if models.usual else await models.probing.find()
    help_text = MODEL_HELP if found is None else f"{found.offer} {MODEL_HELP}"
    states = app.configuration.states() if ADMIN in caller.rights and not brief else []
    written = schemas() if states else {}
    return SettingsShown.of(
        settings,
        model=models.usual.name if models.usual else None,
        model_help=help_text,
        memory_agent=models.told(settings.vault.agent_model),
        fallbacks=settings.model_fallbacks,
        models=models.names(),
        data_dir=str(settings.data_dir),
        version=__version__,
        bounds=Bounds.of(settings, max_seconds=settings.max_run_s),
        settings=[_setting(state, written[state.setting.name]) for state in states],
        groups=[] if brief else [GroupShown.of(group) for group in GROUPS],
        pending_restart=[state.setting.name for state in states if state.is_pending],
    )


def _setting(state: SettingState, schema: dict[str, Any]) -> SettingShown:
    setting = state.setting
    return SettingShown.of(
        setting,
        schema=schema,
        value=state.value,
        default=shown(setting, setting.default),
        is_set=state.is_set,
        source=state.origin.source,
        source_name=state.origin.name,
        editable=state.editable,
    )
