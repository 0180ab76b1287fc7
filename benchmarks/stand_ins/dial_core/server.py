"""The stand-in's routes. `bethink dial stand-in` runs it in a process of its own, tests in theirs."""

from __future__ import annotations

import mimetypes
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
from aiohttp import BodyPartReader, ClientSession, ClientTimeout, TCPConnector, web

from benchmarks.stand_ins.dial_core.callers import Callers
from benchmarks.stand_ins.dial_core.deployments import (
    Application,
    Model,
    Sent,
    abort,
    to_application,
    to_model,
)
from benchmarks.stand_ins.dial_core.faults import Fault, Faults, waited
from benchmarks.stand_ins.dial_core.files import Files, Place
from benchmarks.stand_ins.dial_core.refusal import RefusalError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from benchmarks.stand_ins.dial_core.callers import Caller

_MAX_JSON_BYTES = 16 * 1024 * 1024
_MAX_FORM_BYTES = 512 * 1024 * 1024
_BAD_REQUEST, _NOT_FOUND, _TOO_LARGE = 400, 404, 413
_ANY = "application/octet-stream"
_FAULTS = web.RequestKey("faults", list[Fault])
_METADATA = "application/vnd.dial.metadata+json"


@dataclass(slots=True)
class StandIn:
    """A stand-in for DIAL Core. `projects` names each project by its key.

    `seen` are the requests that came, each as its method and path.
    """

    projects: Mapping[str, str]
    models: dict[str, Model] = field(default_factory=dict[str, Model])
    applications: dict[str, Application] = field(default_factory=dict[str, Application])
    files: Files = field(default_factory=Files)
    faults: Faults = field(default_factory=Faults)
    seen: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    callers: Callers = field(init=False, repr=False)
    _http: ClientSession = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.callers = Callers(self.projects)

    @asynccontextmanager
    async def served(self, *, host: str = "127.0.0.1", port: int = 0) -> AsyncGenerator[str]:
        """Its address, while requests are answered there; port 0 takes a free one."""
        # What is sent on takes as long as the deployment needs.
        timeout = ClientTimeout(total=None, sock_connect=10)
        async with ClientSession(
            connector=TCPConnector(limit=0), timeout=timeout, auto_decompress=False
        ) as self._http:
            runner = web.AppRunner(
                self._application(), access_log=None, handler_cancellation=True, shutdown_timeout=1
            )
            await runner.setup()
            try:
                await web.TCPSite(runner, host, port).start()
                name, number = runner.addresses[0][:2]
                yield f"http://{f'[{name}]' if ':' in name else name}:{number}"
            finally:
                await runner.cleanup()

    def put(self, place: str, body: bytes, media_type: str = "application/octet-stream") -> None:
        """Have a file at a place (bucket and path), as if somebody had written it."""
        self.files.put(Place.parse(place), body, media_type, when={})

    def _application(self) -> web.Application:
        app = web.Application(client_max_size=_MAX_JSON_BYTES, middlewares=[self._around])

        app.add_routes(
            [
                web.get("/health", self._health),
                web.get("/v1/bucket", self._bucket),
                web.get("/v1/user/info", self._user_info),
                web.get("/v1/files/{place:.*}", self._get_file),
                web.put("/v1/files/{place:.*}", self._put_file),
                web.delete("/v1/files/{place:.*}", self._delete_file),
                web.get("/v1/metadata/files/{place:.*}", self._metadata),
                web.get("/v1/deployments/{name}/configuration", self._configuration),
                web.get("/openai/models", self._list_models),
                web.get("/openai/applications", self._list_applications),
                web.get("/openai/deployments", self._list_deployments),
                web.post("/openai/deployments/{name}/chat/completions", self._chat),
                web.put("/stand-in/faults", self._set_faults),
            ]
        )
        return app

    @web.middleware
    async def _around(self, request: web.Request, handler: Any) -> web.StreamResponse:  # noqa: ANN401 - aiohttp's
        """Count the request, let go wrong what is to, and say no as Core does."""
        self.seen.append((request.method, request.path))
        faults = self.faults.take(request.method, request.path)
        request[_FAULTS] = faults
        await waited(faults, "delay")
        try:
            for fault in faults:
                self._strike(request, fault)
            _check_length(request)
            return await handler(request)
        except RefusalError as error:
            if request.path.endswith("/chat/completions"):
                said = {"error": {"message": error.text, "code": str(error.status)}}
                return _json(said, status=error.status)
            return web.Response(status=error.status, text=error.text)

    def _strike(self, request: web.Request, fault: Fault) -> None:
        match fault.kind:
            case "status":
                raise RefusalError(fault.status, fault.text)
            case "drop":
                abort(request)
            case "race":
                place = Place.parse(request.match_info["place"])
                self.files.put(place, fault.text.encode(), "application/json", when={})
            case _:
                pass

    async def _health(self, _: web.Request) -> web.StreamResponse:
        return _json({"status": "ok"})

    async def _bucket(self, request: web.Request) -> web.StreamResponse:
        caller = self.callers.of(request.headers)
        return _json({"bucket": caller.bucket} | ({"appdata": caller.appdata} if caller.appdata else {}))

    async def _user_info(self, request: web.Request) -> web.StreamResponse:
        self.callers.of(request.headers)
        return _json({"roles": ["default"], "project": self.projects.get(request.headers["api-key"])})

    async def _get_file(self, request: web.Request) -> web.StreamResponse:
        content = self.files.get(self._place(request, writing=False))
        if content is None:
            raise RefusalError(_NOT_FOUND)
        headers = {"Content-Type": content.media_type, "ETag": content.etag}
        return web.Response(body=content.body, headers=headers)

    async def _put_file(self, request: web.Request) -> web.StreamResponse:
        place = self._place(request, writing=True)
        body, media_type = await _uploaded(request)
        content = self.files.put(place, body, media_type, when=request.headers)
        return _json(self.files.item(place), headers={"ETag": content.etag})

    async def _delete_file(self, request: web.Request) -> web.StreamResponse:
        self.files.delete(self._place(request, writing=True), when=request.headers)
        return web.Response()

    async def _metadata(self, request: web.Request) -> web.StreamResponse:
        place = self._place(request, writing=False)
        found = self.files.listing(place, request.query) if place.is_folder else self.files.item(place)
        kind = _METADATA if request.headers.get("Accept") == _METADATA else "application/json"
        return _json(found, media_type=kind)

    async def _configuration(self, request: web.Request) -> web.StreamResponse:
        self.callers.of(request.headers)
        application = self.applications.get(request.match_info["name"])
        if application is None:
            raise RefusalError(_NOT_FOUND)
        url = f"{application.endpoint.removesuffix('/chat/completions')}/configuration"
        async with self._http.get(url, headers={"api-key": request.headers["api-key"]}) as answer:
            return web.Response(
                status=answer.status, body=await answer.read(), content_type="application/json"
            )

    async def _list_models(self, request: web.Request) -> web.StreamResponse:
        return self._listed(request, self.models, "model")

    async def _list_applications(self, request: web.Request) -> web.StreamResponse:
        return self._listed(request, self.applications, "application")

    async def _list_deployments(self, request: web.Request) -> web.StreamResponse:
        return self._listed(request, self.models, "deployment")

    def _listed(self, request: web.Request, names: Mapping[str, object], kind: str) -> web.StreamResponse:
        self.callers.of(request.headers)
        data = [{"id": name, kind: name, "object": kind, "status": "succeeded"} for name in names]
        return _json({"data": data, "object": "list"})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        sent = Sent(request, self.callers.of(request.headers), request[_FAULTS])
        if (model := self.models.get(name)) is not None:
            return await to_model(self._http, model, sent)
        if (application := self.applications.get(name)) is not None:
            return await to_application(self._http, application, self.callers, name=name, sent=sent)
        raise RefusalError(_NOT_FOUND, f"Deployment {name} is not found")

    async def _set_faults(self, request: web.Request) -> web.StreamResponse:
        try:
            self.faults.set(msgspec.json.decode(await request.read(), type=list[Fault]))
        except msgspec.DecodeError as error:
            raise RefusalError(_BAD_REQUEST, f"These are no faults: {error}") from error
        return _json({})

    def _place(self, request: web.Request, *, writing: bool) -> Place:
        """The resource that a request names, which its sender may read or write.

        Raises:
            RefusalError: there is no such bucket, or the key does not reach it.
        """
        caller: Caller = self.callers.of(request.headers)
        raw = request.rel_url.raw_path.partition("/files/")[2]
        place = Place.parse(raw)
        if not self.callers.is_bucket(place.bucket):
            raise RefusalError(_BAD_REQUEST, f"Url has invalid bucket: files/{place.bucket}/")
        caller.check(place.key, writing=writing)
        return place


def _check_length(request: web.Request) -> None:
    is_form = request.content_type.startswith("multipart/")
    if (request.content_length or 0) > (_MAX_FORM_BYTES if is_form else _MAX_JSON_BYTES):
        raise RefusalError(_TOO_LARGE, "Request body is too large")


async def _uploaded(request: web.Request) -> tuple[bytes, str]:
    """The content of a form's first part, whatever the field is called, and its type."""
    if not request.content_type.startswith("multipart/"):
        raise RefusalError(_BAD_REQUEST, "Request must have multipart content type")
    try:
        part = await (await request.multipart()).next()
    except ValueError as error:
        raise RefusalError(_BAD_REQUEST, f"Bad form: {error}") from error
    if not isinstance(part, BodyPartReader):
        raise RefusalError(_BAD_REQUEST, "No file in the form")
    name = request.match_info["place"].rpartition("/")[2]
    media_type = part.headers.get("Content-Type") or mimetypes.guess_type(name)[0] or _ANY
    return bytes(await part.read()), media_type


def _json(
    value: object,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    media_type: str = "application/json",
) -> web.Response:
    return web.Response(
        body=msgspec.json.encode(value), status=status, content_type=media_type, headers=headers
    )
