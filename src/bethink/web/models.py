"""`/models`: providers, what runs on this machine, what a server offers, and whether a model works.

For administrators, while a model is chosen. What is asked with a key keeps nothing of it. (`/v1/models` is
another list: what clients of OpenAI's may ask.)
"""

from __future__ import annotations

from typing import Annotated, Literal

import anyio.to_thread
from fastapi import APIRouter
from pydantic import BaseModel, Field

from bethink.errors import BadInput
from bethink.llm.llamacpp import RUNS_FILES, missing_runner
from bethink.llm.models import address_of, connect_trial, key_for
from bethink.llm.providers import PROVIDERS
from bethink.llm.server_models import list_models, local_servers
from bethink.llm.trial import try_model
from bethink.settings import Settings
from bethink.web.deps import Body, Caller, ResponseModel, Served
from bethink.web.problems import documented

router = APIRouter(prefix="/models", tags=["models"])

Address = Annotated[str | None, Field(max_length=2_000)]
Secret = Annotated[str | None, Field(max_length=10_000)]


class ProviderShown(ResponseModel):
    """Where models come from."""

    id: str
    title: str
    description: str
    key: str | None = Field(description="The setting of its key; null if it has none.")
    base_url: str | None = Field(description="The setting of its address; null if it has none.")
    default_base_url: str | None = Field(description="Where it is unless told; null if nobody knows.")
    needs_key: bool
    local: bool = Field(description="Whether it runs on the owner's machines.")
    runs_files: bool = Field(description="Whether its models can be files that Bethink runs itself.")
    missing: str = Field(description="What to install for that, as a sentence; empty if nothing.")


class ProvidersShown(BaseModel):
    """All providers."""

    providers: list[ProviderShown]


class ModelListed(ResponseModel):
    """A model that a server offers."""

    id: str
    name: str
    context_tokens: int | None


class ModelsListed(BaseModel):
    """What a server offers, models that chat first."""

    base_url: str = Field(
        description="Where the list was found: the address asked, perhaps with /v1 behind it."
    )
    models: list[ModelListed]


class LocalServerShown(ResponseModel):
    """A server of models on this machine."""

    provider: str
    title: str
    base_url: str
    models: list[ModelListed]


class LocalServersShown(BaseModel):
    """All that answer."""

    servers: list[LocalServerShown]


class ModelFileShown(ResponseModel):
    """A file of a model on this machine, or on its way."""

    id: str
    name: str
    source: str = Field(description="Its address, or its path if it is used where it lies.")
    state: Literal["downloading", "ready", "failed", "cancelled"]
    bytes: int = Field(description="What of it is here.")
    total: int | None = Field(description="Bytes of all of it; null if nobody tells.")
    problem: str = Field(description="Why it failed, and what to do; empty otherwise.")
    model: str = Field(description="Its `provider:name` in settings; empty until it is ready.")


class ModelFilesShown(BaseModel):
    """All files, by name."""

    downloads: list[ModelFileShown]


class DownloadBody(Body):
    """Where the file is: an address with https, or a path on this machine, where it stays."""

    url: Address = None
    path: Address = None


class ListBody(Body):
    """Whose models; the key and the address of the settings if none are given."""

    provider: Annotated[str, Field(max_length=40)]
    base_url: Address = None
    api_key: Secret = None


class TrialBody(Body):
    """Which model; the key and the address of the settings if none are given."""

    model: Annotated[str, Field(max_length=500, description="`provider:name`.")]
    base_url: Address = None
    api_key: Secret = None


class TrialProblem(BaseModel):
    """Why a model does not answer."""

    title: str
    detail: str


class TrialShown(ResponseModel):
    """How a model did. `tools` and `vision` are null if it was too slow to find out."""

    ok: bool
    first_token_ms: int | None
    total_ms: int | None
    tools: bool | None
    vision: bool | None
    context_tokens: int | None
    problem: TrialProblem | None


@router.get("/providers")
async def list_providers(_: Caller) -> ProvidersShown:
    """What models can come from, the best known first."""
    found: list[ProviderShown] = []
    missing = await anyio.to_thread.run_sync(missing_runner)
    for id, provider in PROVIDERS.items():
        key, url = f"{id}_api_key", f"{id}_base_url"
        shown = ProviderShown.of(
            provider,
            id=id,
            key=key if key in Settings.model_fields else None,
            base_url=url if url in Settings.model_fields else None,
            default_base_url=provider.base_url,
            needs_key=bool(provider.key_variable),
            runs_files=id == RUNS_FILES,
            missing=missing if id == RUNS_FILES else "",
        )
        found.append(shown)
    return ProvidersShown(providers=found)


@router.get("/local")
async def list_local_servers(_: Caller) -> LocalServersShown:
    """The servers of models that answer on this machine, within a second."""
    return LocalServersShown(servers=[LocalServerShown.of(server) for server in await local_servers()])


@router.post("/list", responses=documented(502))
async def list_server_models(body: ListBody, app: Served, _: Caller) -> ModelsListed:
    """The models that a server offers. A key that is given is used for this alone."""
    settings = app.settings
    offer = await list_models(
        body.provider,
        base_url=body.base_url or address_of(settings, body.provider),
        api_key=key_for(settings, body.provider, base_url=body.base_url, api_key=body.api_key),
        api_version=settings.azure_api_version if body.provider == "azure" else "",
    )
    return ModelsListed(base_url=offer.base_url, models=[ModelListed.of(model) for model in offer.models])


@router.post("/test")
async def try_out_model(body: TrialBody, app: Served, _: Caller) -> TrialShown:
    """Ask a model for a word, a call of a tool and what it sees: up to two minutes, usually seconds."""
    llm = connect_trial(app.settings, body.model, base_url=body.base_url or None, api_key=body.api_key)
    try:
        trial = await try_model(llm)
    finally:
        await llm.close()
    problem = trial.problem and TrialProblem(
        title=trial.problem.code.replace("_", " ").capitalize(), detail=trial.problem.message
    )
    return TrialShown.of(trial, problem=problem)


@router.get("/downloads")
async def list_model_files(app: Served, _: Caller) -> ModelFilesShown:
    """The model files in GGUF of this machine, and those on their way."""
    return ModelFilesShown(downloads=[ModelFileShown.of(file) for file in await app.model_files.list()])


@router.post("/downloads", status_code=202, responses=documented(403, 409))
async def add_model_file(body: DownloadBody, app: Served, _: Caller) -> ModelFileShown:
    """Download a model file, from where it stopped if it began before; or use one that is here already."""
    if bool(body.url) == bool(body.path):
        raise BadInput("Give either an address or a path.")
    files = app.model_files
    return ModelFileShown.of(await (files.download(body.url) if body.url else files.use(body.path or "")))


@router.delete("/downloads/{id}", status_code=204, responses=documented(404, 409))
async def remove_model_file(id: str, app: Served, _: Caller) -> None:
    """Cancel a download, which can go on later; remove what is not being downloaded."""
    await app.model_files.remove(id)
