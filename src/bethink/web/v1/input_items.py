"""What a response answers, as the items that its request brought. `kept_responses` lists them.

Source: OpenAI API reference, "List input items".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bethink.messages import ToolMessage, UserMessage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.conversations import StoredMessage
    from bethink.messages import Attachment


def items_of(said: Sequence[StoredMessage], origin: str) -> list[dict[str, Any]]:
    """A message or a function's output for each, oldest first; files by their addresses at `origin`."""
    items: list[dict[str, Any]] = []
    for stored in said:
        match stored.message:
            case UserMessage(content=text, attachments=files):
                parts: list[dict[str, Any]] = [{"type": "input_text", "text": text}]
                items.append(
                    {
                        "id": f"msg_{stored.id}",
                        "type": "message",
                        "role": "user",
                        "status": "completed",
                        "content": [*parts, *(_part(file, origin) for file in files)],
                    }
                )
            case ToolMessage(call=call, content=output):
                items.append(
                    {
                        "id": f"fco_{stored.id}",
                        "type": "function_call_output",
                        "status": "completed",
                        "call_id": call,
                        "output": output,
                    }
                )
            case _:
                pass
    return items


def _part(file: Attachment, origin: str) -> dict[str, Any]:
    address = f"{origin}{file.url}"
    if file.media_type.startswith("image/"):
        return {"type": "input_image", "detail": "auto", "image_url": address}
    return {"type": "input_file", "filename": file.name, "file_url": address}
