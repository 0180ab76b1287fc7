"""`/audio` and `/v1/audio`: speech to text, and text to speech, by the endpoint that the settings name.

Source: OpenAI API reference, "Create transcription" and "Create speech".
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, File, Form, Response, UploadFile
from fastapi.responses import PlainTextResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from bethink.audio import MAX_AUDIO_BYTES, MAX_SPEECH_CHARS, MEDIA_TYPES, Recording, Speech, audio_of
from bethink.audio import SpeechFormat as Format
from bethink.errors import BadInput, TooLarge
from bethink.web.deps import Caller, ResponseModel, Served
from bethink.web.problems import documented
from bethink.web.sse import begun
from bethink.web.v1.errors import ERRORS
from bethink.web.v1.request import sound

router = APIRouter()
_own = APIRouter(prefix="/audio", tags=["audio"], responses=documented(404, 429, 502, 504))
_v1 = APIRouter(prefix="/v1/audio", tags=["openai"], responses=ERRORS)

_SOUND: dict[int | str, dict[str, Any]] = {
    200: {"description": "The sound, as it comes.", "content": {"audio/mpeg": {}}}
}


class Transcript(BaseModel):
    """What was said."""

    text: str


class SpeechBody(BaseModel):
    """What to read aloud, as OpenAI takes it; the model is the one that the settings name."""

    model_config = ConfigDict(extra="ignore")

    input: str = Field(min_length=1, max_length=MAX_SPEECH_CHARS)
    model: str | None = Field(default=None, max_length=200, description="Not regarded.")
    voice: str | None = Field(default=None, max_length=100, description="By default that of the settings.")
    response_format: Format = "mp3"
    speed: float | None = Field(default=None, ge=0.25, le=4)


class AudioShown(ResponseModel):
    """What of audio is set up."""

    transcription: bool = Field(description="Whether `/audio/transcriptions` has a model.")
    speech: bool = Field(description="Whether `/audio/speech` has a model.")
    address: str = Field(description="Where recordings and texts go.")
    max_bytes: int
    max_chars: int


@_own.get("")
async def get_audio(app: Served, _: Caller) -> AudioShown:
    """What of audio is set up, and where it would be sent."""
    audio = audio_of(app.settings)
    return AudioShown(
        transcription=bool(audio.transcriber),
        speech=bool(audio.speaker),
        address=audio.base_url,
        max_bytes=MAX_AUDIO_BYTES,
        max_chars=MAX_SPEECH_CHARS,
    )


@_own.post("/transcriptions", responses=documented(413))
async def transcribe_audio(
    app: Served,
    _: Caller,
    file: Annotated[UploadFile, File()],
    *,
    language: Annotated[str | None, Form(max_length=10)] = None,
    prompt: Annotated[str, Form(max_length=2_000)] = "",
) -> Transcript:
    """What is said in a recording. It is sent to the endpoint, and kept nowhere here."""
    return Transcript(text=await _transcribed(app, file, language, prompt))


@_own.post("/speech", response_class=Response, responses=_SOUND)
async def speak_text(body: SpeechBody, app: Served, _: Caller) -> Response:
    """A text, read aloud."""
    return await _spoken(app, body)


@_v1.post("/transcriptions", response_model=Transcript)
async def create_transcription(
    app: Served,
    _: Caller,
    file: Annotated[UploadFile, File()],
    *,
    model: Annotated[str | None, Form(max_length=200, description="Not regarded.")] = None,
    language: Annotated[str | None, Form(max_length=10)] = None,
    prompt: Annotated[str, Form(max_length=2_000)] = "",
    response_format: Annotated[Literal["json", "text"], Form()] = "json",
) -> Transcript | Response:
    """What is said in a recording."""
    del model
    text = await _transcribed(app, file, language, prompt)
    if response_format == "text":
        return PlainTextResponse(text)
    return Transcript(text=text)


@_v1.post("/speech", dependencies=[Depends(sound)], response_class=Response, responses=_SOUND)
async def create_speech(body: SpeechBody, app: Served, _: Caller) -> Response:
    """A text, read aloud."""
    return await _spoken(app, body)


async def _transcribed(app: Served, file: UploadFile, language: str | None, hint: str) -> str:
    if (file.size or 0) > MAX_AUDIO_BYTES:
        raise TooLarge(f"The recording is larger than {MAX_AUDIO_BYTES // 1_000_000} MB.")
    content = await file.read()
    if not content:
        raise BadInput("The recording is empty.")
    media_type = file.content_type or "application/octet-stream"
    recording = Recording(content, file.filename or "recording.webm", media_type)
    return await audio_of(app.settings).transcribe(recording, language, hint)


async def _spoken(app: Served, body: SpeechBody) -> Response:
    speech = Speech(body.input, body.voice, body.response_format, body.speed)
    parts = await begun(audio_of(app.settings).speak(speech))
    return StreamingResponse(parts, media_type=MEDIA_TYPES[body.response_format])


router.include_router(_own)
router.include_router(_v1)
