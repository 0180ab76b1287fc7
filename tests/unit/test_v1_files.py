"""Files and pictures of `/v1`, as OpenAI's own client asks for them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import AsyncIterator
from dataclasses import replace

import openai
import pytest
from pydantic import SecretStr

from bethink.images.factory import Exchange, OpenAiImages
from bethink.llm.scripted import ScriptedLlm
from tests.house import ports_of
from tests.library import finished, plain_reading
from tests.openai_client import client_of
from tests.painter import KEY, PNG, Painter, made, painting
from tests.speaker import KEY as SPEAKER_KEY
from tests.speaker import SOUND, Speaker, speaking

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("plain_reading")]

assert plain_reading

NOTES = b"# Acme\n\nThe contract with Acme ends in May.\n"


@pytest.fixture
async def painter() -> AsyncIterator[Painter]:
    async with painting() as at:
        yield at


@pytest.fixture
async def speaker() -> AsyncIterator[Speaker]:
    async with speaking() as at:
        yield at


async def test_files_are_documents_that_are_read_searched_and_deleted() -> None:
    async with client_of(ScriptedLlm([])) as client:
        files, app = client.openai.files, client.door.house.app
        kept = await files.create(file=("acme.md", NOTES), purpose="user_data")
        assert (kept.filename, kept.bytes, kept.purpose, kept.object) == (
            "acme.md",
            len(NOTES),
            "user_data",
            "file",
        )
        again = await files.create(file=("acme.md", NOTES), purpose="assistants")
        assert again.id == kept.id
        other = await files.create(file=("other.md", b"Something else."), purpose="vision")
        await finished(client.door.house, hashlib.sha256(NOTES).hexdigest())
        assert (await files.retrieve(kept.id)).status == "processed"
        assert {one.id async for one in await files.list()} == {kept.id, other.id}
        first, second = [one.id async for one in await files.list(limit=1, order="asc")]
        assert (first, second) == (kept.id, other.id)
        assert not (await files.list(purpose="batch")).data
        assert (await files.content(kept.id)).content == NOTES
        found = await app.library.search(client.door.house.me, "When does the contract end?", 3)
        assert "ends in May" in found[0].text
        gone = await files.delete(kept.id)
        assert (gone.id, gone.deleted) == (kept.id, True)
        with pytest.raises(openai.NotFoundError) as refused:
            await files.retrieve(kept.id)
        assert refused.value.type == "not_found_error"


@pytest.mark.parametrize(
    ("name", "content", "purpose", "words"),
    [("a.jsonl", b"{}", "fine-tune", "purpose"), ("empty.md", b"", "user_data", "empty")],
)
async def test_a_file_that_nobody_reads_is_refused(
    name: str, content: bytes, purpose: str, words: str
) -> None:
    async with client_of(ScriptedLlm([])) as client:
        with pytest.raises(openai.BadRequestError, match=words):
            await client.openai.files.create(file=(name, content), purpose=purpose)  # pyright: ignore[reportArgumentType] - as a client may send
        assert not (await client.openai.files.list()).data


async def test_a_message_names_a_file_that_was_uploaded_before() -> None:
    async with client_of(ScriptedLlm(["In May.", "Yes."])) as client:
        house = client.door.house
        kept = await client.openai.files.create(file=("acme.md", NOTES), purpose="user_data")
        raw = await client.openai.chat.completions.with_raw_response.create(
            model="bethink",
            messages=[
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "When?"},
                        {"type": "file", "file": {"file_id": kept.id}},
                    ],
                }
            ],
        )
        (file,) = await house.app.files.list(house.me, raw.headers["x-bethink-conversation"])
        assert (file.name, file.size) == ("acme.md", len(NOTES))
        answer = await client.openai.responses.create(
            model="bethink",
            input=[{"role": "user", "content": [{"type": "input_file", "file_id": kept.id}]}],
        )
        assert answer.conversation is not None
        assert len(await house.app.files.list(house.me, answer.conversation.id)) == 1
        with pytest.raises(openai.NotFoundError):
            await client.openai.responses.create(
                model="bethink",
                input=[{"role": "user", "content": [{"type": "input_file", "file_id": "nowhere"}]}],
            )


async def test_pictures_come_from_the_model_of_the_settings(painter: Painter) -> None:
    model = OpenAiImages(Exchange(f"{painter.url}/v1", {"Authorization": f"Bearer {KEY}"}, 5), "gpt-image-1")
    async with client_of(None, ports=replace(ports_of(ScriptedLlm([])), images=model)) as client:
        images = client.openai.images
        painter.answers(made(usage={"input_tokens": 5, "output_tokens": 7, "total_tokens": 12}))
        answer = await images.generate(prompt="A lake", model="dall-e-3", n=2, size="1536x1024")
        assert answer.data is not None
        assert [base64.b64decode(one.b64_json or "") for one in answer.data] == [PNG, PNG]
        assert answer.usage is not None
        assert answer.usage.total_tokens == 24
        shown = await images.generate(prompt="A lake", response_format="url")
        assert shown.data is not None
        assert (shown.data[0].url or "").startswith("data:image/png;base64,")
        assert [(one.body or {})["size"] for one in painter.asked] == ["1536x1024", "1536x1024", "1024x1024"]
        with pytest.raises(openai.BadRequestError, match="makes no pictures of 1x1"):
            await images.generate(prompt="A lake", size="1x1")
        painter.answers({"error": {"message": "no"}}, status="401 Unauthorized")
        with pytest.raises(openai.APIStatusError) as refused:
            await images.generate(prompt="A lake")
        assert refused.value.status_code == 502
        assert "BETHINK_IMAGES_API_KEY" in refused.value.message


async def test_speech_goes_both_ways(speaker: Speaker) -> None:
    settings = {
        "audio_model": "whisper-1",
        "speech_model": "tts-1",
        "audio_base_url": speaker.url,
        "audio_api_key": SecretStr(SPEAKER_KEY),
    }
    async with client_of(ScriptedLlm([]), **settings) as client:
        audio = client.openai.audio
        heard = await audio.transcriptions.create(
            file=("note.webm", b"\x1aE\xdf\xa3 sound"), model="whisper-1"
        )
        assert heard.text == "Buy oat milk."
        said = await audio.speech.create(input="Hello", model="tts-1", voice="alloy", response_format="wav")
        assert said.content == SOUND


async def test_what_no_provider_is_set_for_says_which_setting_is_missing() -> None:
    async with client_of(ScriptedLlm([])) as client:
        with pytest.raises(openai.NotFoundError, match="BETHINK_IMAGES_MODEL"):
            await client.openai.images.generate(prompt="A lake")
        with pytest.raises(openai.NotFoundError, match="BETHINK_SPEECH_MODEL"):
            await client.openai.audio.speech.create(input="Hello", model="tts-1", voice="alloy")
        with pytest.raises(openai.NotFoundError, match="BETHINK_AUDIO_MODEL"):
            await client.openai.audio.transcriptions.create(file=("a.wav", b"RIFF"), model="whisper-1")
