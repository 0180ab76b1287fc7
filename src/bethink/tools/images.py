"""`generate_image` of spec 002: a picture from words, kept among the conversation's files and shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from bethink.events import Usage
from bethink.images import checked_size
from bethink.images.factory import DEFAULT
from bethink.tool import NewFile, Rate, ToolContext, ToolOutput, tool

if TYPE_CHECKING:
    from bethink.images import Images
    from bethink.tool import Tool

_PATIENCE_S: Final = 10
_MAX_PROMPT: Final = 4_000
"""What the strictest of OpenAI's models takes (its reference, "Create image", `prompt`)."""
_OFTEN: Final = Rate(10, per_s=60)
"""Pictures cost money, and a model that is caught in a loop asks for many."""


def image_tools(images: Images | None, timeout_s: float, price_usd: float | None = None) -> list[Tool]:
    """`generate_image`, a picture of which costs `price_usd`; nothing where no model of pictures is set."""
    if images is None:
        return []

    @tool(
        effect="egress",
        label="Make a picture ({size}): {prompt}",
        timeout_s=timeout_s + _PATIENCE_S,
        gives=lambda arguments: (arguments["prompt"],),
        public=True,
        rate=_OFTEN,
        family="images",
        aliases=("image_generation_tool",),
    )
    async def generate_image(
        context: ToolContext,
        prompt: Annotated[
            str,
            Field(
                description="Detailed description of the image to generate",
                min_length=1,
                max_length=_MAX_PROMPT,
            ),
        ],
        size: Annotated[str, Field(description="Width x height in pixels", max_length=20)] = DEFAULT,
    ) -> ToolOutput:
        """Generate an image from a text prompt. The user sees it at once; you cannot see it.

        Describe what is in the picture, its style and its light. Leave personal details out.
        """
        picture = await images.generate(prompt, checked_size(images, size))
        context.emit(
            Usage(
                job="image",
                model=images.name,
                input_tokens=picture.input_tokens,
                output_tokens=picture.output_tokens,
                cost_usd=price_usd,
            )
        )
        ending = picture.media_type.partition("/")[2].replace("jpeg", "jpg")
        kept = await context.keep(NewFile(f"picture.{ending}", picture.media_type, picture.content))
        return ToolOutput(f"Made, and shown to the user: {kept.name} ({size}).", attachments=(kept,))

    if images.sizes:
        # A model is told of the sizes that there are. The schema is this tool's own.
        schema: dict[str, Any] = generate_image.parameters["properties"]["size"]
        del schema["maxLength"]
        schema["enum"] = [*images.sizes]
    return [generate_image]
