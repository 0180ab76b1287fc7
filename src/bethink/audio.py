"""Speech to text and text to speech, by an endpoint that speaks OpenAI's audio API. The web door calls it.

Nothing is kept here, and nothing is sent but what a person or a program asks for.
Source: OpenAI API reference, "Create transcription" and "Create speech".
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Final, Literal

import anyio.to_thread
import msgspec

from bethink.endpoint_faults import fault_of
from bethink.errors import BadInput, InvalidResponse, UnknownId, Unreachable

if TYPE_CHECKING:
    import httpx2

    from bethink.settings import Settings

SpeechFormat = Literal["mp3", "opus", "aac", "flac", "wav", "pcm"]
MEDIA_TYPES: Final[dict[SpeechFormat, str]] = {
    "mp3": "audio/mpeg",
    "opus": "audio/ogg",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm",
}
MAX_AUDIO_BYTES: Final = 25_000_000
"""As much as OpenAI takes of a recording."""
MAX_SPEECH_CHARS: Final = 4_096
"""As much as OpenAI reads aloud at once."""
_MOST_ANSWER: Final = 2_000_000
"""Of a transcript: an hour of speech has 60,000 characters."""
_MOST_SPEECH: Final = 50_000_000
_OK: Final = 200
_NAME: Final = "The audio endpoint"
_KEY: Final = "BETHINK_AUDIO_API_KEY"
_OPENAI: Final = "https://api.openai.com/v1"
_CONNECT_S: Final = 10


class _Transcript(msgspec.Struct, frozen=True):
    text: str


@dataclass(frozen=True, slots=True)
class Recording:
    """What was recorded: its bytes, and the name and media type that tell how they are coded."""

    content: bytes
    name: str
    media_type: str


@dataclass(frozen=True, slots=True)
class Speech:
    """What is to be read aloud, and how; without a `voice` the one that the settings name."""

    text: str
    voice: str | None = None
    format: SpeechFormat = "mp3"
    speed: float | None = None


@dataclass(frozen=True, slots=True)
class Audio:
    """An endpoint at `base_url`; a model that is empty is not there. Each silence is at most `timeout_s`."""

    base_url: str
    transcriber: str = ""
    speaker: str = ""
    voice: str = "alloy"
    headers: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    timeout_s: float = 120

    async def transcribe(self, recording: Recording, language: str | None = None, hint: str = "") -> str:
        """What is said in a recording; `language` is its ISO 639-1 code, `hint` words that stand before it.

        Raises:
            UnknownId: no model is set for it.
            LlmError: one of its family says what is wrong.
        """
        if not self.transcriber:
            raise UnknownId("No model turns speech into text: set BETHINK_AUDIO_MODEL.")
        fields = {"model": self.transcriber, "response_format": "json", "language": language, "prompt": hint}
        data = {name: value for name, value in fields.items() if value}
        files = {"file": (recording.name, recording.content, recording.media_type)}
        url = self._url("transcriptions")
        async with (
            self._client() as client,
            _translated(self.base_url),
            client.stream("POST", url, data=data, files=files) as answer,
        ):
            body = await _read(answer, _MOST_ANSWER)
            if answer.status_code != _OK:
                raise fault_of(answer.status_code, body, name=_NAME, key=_KEY)
        try:
            return msgspec.json.decode(body, type=_Transcript).text.strip()
        except (msgspec.DecodeError, UnicodeError) as error:
            raise InvalidResponse("The audio endpoint did not answer with a transcript.") from error

    async def speak(self, speech: Speech) -> AsyncGenerator[bytes]:
        """The sound, as it comes.

        Raises:
            UnknownId: no model is set for it.
            LlmError: one of its family says what is wrong.
        """
        if not self.speaker:
            raise UnknownId("No model reads aloud: set BETHINK_SPEECH_MODEL.")
        body: dict[str, object] = {
            "model": self.speaker,
            "input": speech.text,
            "voice": speech.voice or self.voice,
            "response_format": speech.format,
        }
        if speech.speed is not None:
            body["speed"] = speech.speed
        came = 0
        async with (
            self._client() as client,
            _translated(self.base_url),
            client.stream("POST", self._url("speech"), json=body) as answer,
        ):
            if answer.status_code != _OK:
                raise fault_of(answer.status_code, await _read(answer, _MOST_ANSWER), name=_NAME, key=_KEY)
            if "json" in answer.headers.get("content-type", ""):
                raise InvalidResponse("The audio endpoint did not answer with sound.")
            async for part in answer.aiter_bytes():
                came += len(part)
                if came > _MOST_SPEECH:
                    raise InvalidResponse("The answer of the audio endpoint is too large.")
                yield part

    def _url(self, of: str) -> str:
        return f"{self.base_url.rstrip('/')}/audio/{of}"

    @asynccontextmanager
    async def _client(self) -> AsyncGenerator[httpx2.AsyncClient]:
        await anyio.to_thread.run_sync(import_module, "httpx2")
        import httpx2

        context = await anyio.to_thread.run_sync(httpx2.create_ssl_context)
        timeout = httpx2.Timeout(self.timeout_s, connect=_CONNECT_S)
        async with httpx2.AsyncClient(verify=context, timeout=timeout, headers=self.headers) as client:
            yield client


@asynccontextmanager
async def _translated(base_url: str) -> AsyncGenerator[None]:
    """Errors of the client as ours."""
    import httpx2

    try:
        yield
    except httpx2.TimeoutException as error:
        raise Unreachable(f"The audio endpoint at {base_url} does not answer in time.") from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise Unreachable(f"The audio endpoint at {base_url} cannot be reached.") from error


async def _read(answer: httpx2.Response, most: int) -> bytes:
    content = bytearray()
    async for part in answer.aiter_bytes():
        content += part
        if len(content) > most:
            raise InvalidResponse("The answer of the audio endpoint is too large.")
    return bytes(content)


def audio_of(settings: Settings) -> Audio:
    """The endpoint that the settings name. Nothing is sent yet.

    Raises:
        BadInput: its address is none.
    """
    base_url, secret = settings.audio_base_url, settings.audio_api_key
    if base_url is None:
        base_url, secret = settings.openai_base_url or _OPENAI, secret or settings.openai_api_key
    if not base_url.startswith(("http://", "https://")):
        raise BadInput(f"BETHINK_AUDIO_BASE_URL is {base_url!r}: give an http:// or https:// address.")
    key = secret.get_secret_value() if secret else ""
    return Audio(
        base_url,
        settings.audio_model,
        settings.speech_model,
        settings.speech_voice,
        {"Authorization": f"Bearer {key}"} if key else {},
        settings.audio_timeout_s,
    )
