"""`/vault/pictures`: pictures that lie beside the pages and are shown in them; for the owner alone."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Query, Response

from bethink.errors import NotAllowed, UnknownId
from bethink.principal import OWN_EYES
from bethink.web.deps import Caller, Served
from bethink.web.problems import documented
from bethink.web.vault.pages import MAX_PATH

router = APIRouter(prefix="/vault", tags=["vault"])

_OWNER: Final = "Pictures of the vault are shown on the owner's own page only: no filter looks into them."
_SAFE: Final = {"content-security-policy": "default-src 'none'; sandbox", "x-content-type-options": "nosniff"}


@router.get(
    "/pictures",
    response_class=Response,
    responses={200: {"content": {"image/*": {}}, "description": "The picture"}, **documented(403, 404)},
)
async def get_vault_picture(
    app: Served,
    caller: Caller,
    source: Annotated[
        str,
        Query(
            min_length=1, max_length=MAX_PATH, description="As the page names it: beside it, or in the vault."
        ),
    ],
    page: Annotated[str, Query(max_length=MAX_PATH, description="The page that shows it.")] = "",
) -> Response:
    """A picture that a page shows: PNG, JPEG, GIF, WebP or AVIF, whatever its name says."""
    if caller.audience not in OWN_EYES:
        raise NotAllowed(_OWNER)
    found = await app.vault.picture(caller.owner, source, page)
    if found is None:
        raise UnknownId("There is no such picture in the vault.")
    return Response(found.body, media_type=found.media_type, headers=_SAFE)
