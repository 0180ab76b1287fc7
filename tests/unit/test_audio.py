"""Speech to text and back: asked of an endpoint in OpenAI's shapes, bounded, and never without a model."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest
from pydantic import SecretStr

from bethink.audio import MAX_AUDIO_BYTES, audio_of
from bethink.settings import Settings
from tests.door import called
from tests.house import open_house
from tests.speaker import KEY, SOUND, Speaker, speaking

pytestmark = pytest.mark.anyio


@pytest.fixture
async def speaker() -> AsyncIterator[Speaker]:
    async with speaking() as at:
        yield at


@asynccontextmanager
async def door(speaker: Speaker) -> AsyncGenerator[httpx2.AsyncClient]:
    async with (
        open_house(
            audio_model="whisper-1",
            speech_model="tts-1",
            speech_voice="nova",
            audio_base_url=speaker.url,
            audio_api_key=SecretStr(KEY),
        ) as house,
        called(house) as http,
    ):
        yield http


RECORDING = {"file": ("note.webm", b"\x1aE\xdf\xa3 sound", "audio/webm")}


async def test_a_recording_becomes_text_at_the_endpoint_with_its_key(speaker: Speaker) -> None:
    async with door(speaker) as http:
        answer = await http.post("/audio/transcriptions", files=RECORDING, data={"language": "en"})
        assert answer.json() == {"text": "Buy oat milk."}
    (asked,) = speaker.asked
    assert asked.path == "/v1/audio/transcriptions"
    assert f"authorization: bearer {KEY}" in asked.head
    assert b"\x1aE\xdf\xa3 sound" in asked.body
    assert b'name="model"\r\n\r\nwhisper-1' in asked.body
    assert b'name="language"\r\n\r\nen' in asked.body


async def test_a_text_is_read_aloud_in_the_voice_of_the_settings(speaker: Speaker) -> None:
    async with door(speaker) as http:
        answer = await http.post("/audio/speech", json={"input": "Good morning."})
        assert answer.headers["content-type"] == "audio/mpeg"
        assert answer.content == SOUND
    assert json.loads(speaker.asked[0].body) == {
        "model": "tts-1",
        "input": "Good morning.",
        "voice": "nova",
        "response_format": "mp3",
    }


async def test_openai_clients_find_both_where_they_look(speaker: Speaker) -> None:
    async with door(speaker) as http:
        text = {"model": "whisper-1", "response_format": "text"}
        heard = await http.post("/v1/audio/transcriptions", files=RECORDING, data=text)
        assert heard.text == "Buy oat milk."
        wanted = {"model": "tts-1-hd", "input": "Hello", "voice": "echo", "response_format": "wav"}
        said = await http.post("/v1/audio/speech", json=wanted)
        assert (said.headers["content-type"], said.content) == ("audio/wav", SOUND)
    assert json.loads(speaker.asked[1].body)["voice"] == "echo"
    assert json.loads(speaker.asked[1].body)["model"] == "tts-1"


async def test_nothing_is_sent_without_a_model(speaker: Speaker) -> None:
    async with open_house(audio_base_url=speaker.url) as house, called(house) as http:
        assert (await http.get("/audio")).json()["transcription"] is False
        heard = await http.post("/audio/transcriptions", files=RECORDING)
        said = await http.post("/audio/speech", json={"input": "Hello"})
        openai = await http.post("/v1/audio/speech", json={"input": "Hello"})
    assert (heard.status_code, said.status_code, openai.status_code) == (404, 404, 404)
    assert "BETHINK_AUDIO_MODEL" in heard.json()["detail"]
    assert "BETHINK_SPEECH_MODEL" in openai.json()["error"]["message"]
    assert speaker.asked == []


async def test_what_is_too_long_or_empty_is_refused_before_it_is_sent(speaker: Speaker) -> None:
    async with door(speaker) as http:
        long = {"file": ("long.webm", bytes(MAX_AUDIO_BYTES + 200_000), "audio/webm")}
        assert (await http.post("/audio/transcriptions", files=long)).status_code == 413
        empty = {"file": ("empty.webm", b"", "audio/webm")}
        assert (await http.post("/audio/transcriptions", files=empty)).status_code in (400, 422)
        assert (await http.post("/audio/speech", json={"input": "a" * 4_097})).status_code == 422
        assert (await http.post("/audio/speech", json={"input": ""})).status_code == 422
    assert speaker.asked == []


@pytest.mark.parametrize(
    ("status", "body", "code", "words"),
    [
        ("401 Unauthorized", {"error": {"message": "bad key"}}, 502, "BETHINK_AUDIO_API_KEY"),
        ("404 Not Found", {"error": {"message": "no whisper-9"}}, 502, "no whisper-9"),
        ("429 Too Many Requests", {"error": "slow down"}, 503, "slow down"),
        ("500 Server Error", {"error": {"message": "broken"}}, 504, "broken"),
        ("200 OK", {"words": "none"}, 502, "transcript"),
    ],
)
async def test_what_the_endpoint_refuses_is_told(
    speaker: Speaker, status: str, body: object, code: int, words: str
) -> None:
    speaker.refusal = (status, body)
    async with door(speaker) as http:
        answer = await http.post("/audio/transcriptions", files=RECORDING)
        assert words in answer.json()["detail"]
        if status != "200 OK":
            said = await http.post("/audio/speech", json={"input": "Hello"})
            assert words in said.json()["detail"]


async def test_an_endpoint_that_is_gone_is_told() -> None:
    async with (
        open_house(audio_model="whisper-1", audio_base_url="http://127.0.0.1:9/v1") as house,
        called(house) as http,
    ):
        answer = await http.post("/audio/transcriptions", files=RECORDING)
    assert answer.status_code == 504
    assert "cannot be reached" in answer.json()["detail"]


async def test_the_key_of_one_provider_is_never_sent_to_another() -> None:
    key = SecretStr("sk-openai")
    own = audio_of(Settings(audio_model="m", audio_base_url="http://127.0.0.1:9/v1", openai_api_key=key))
    assert own.headers == {}
    usual = audio_of(Settings(audio_model="m", openai_api_key=key))
    assert usual.headers == {"Authorization": "Bearer sk-openai"}


async def test_the_microphone_is_for_the_page_itself_alone() -> None:
    async with open_house() as house, called(house) as http:
        policy = (await http.get("/health")).headers["permissions-policy"]
    assert policy == "camera=(), geolocation=(), microphone=(self)"
