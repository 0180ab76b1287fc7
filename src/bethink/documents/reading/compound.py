"""What an OLE compound file is, by its streams: Outlook's letters, and Office before 2007. `reader` calls it.

Source: [MS-CFB]; the streams' names from [MS-OXMSG], [MS-XLS], [MS-DOC], [MS-PPT] and [MS-OFFCRYPTO].
"""

from __future__ import annotations

import io
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from bethink.documents.reading.messages import FOREIGN, UnfitError

if TYPE_CHECKING:
    from bethink.documents.reading.messages import Kind

_LOCKED: Final = "This file is locked with a password: save it without one."
_READ: Final[tuple[tuple[str, Kind], ...]] = (
    ("__properties_version1.0", "msg"),
    ("Workbook", "xls"),
    ("Book", "xls"),
)
_UNREAD: Final = (
    ("EncryptedPackage", _LOCKED),
    ("WordDocument", "Word documents from before 2007 are not read: save it as DOCX."),
    ("PowerPoint Document", "Presentations from before 2007 are not read: save it as PPTX."),
)


def kind_of_compound(content: bytes) -> Kind:
    """How the file is read.

    Raises:
        UnfitError: it is damaged, or is not read; the sentence says what to do.
    """
    olefile: Any = import_module("olefile")

    try:
        with olefile.OleFileIO(io.BytesIO(content)) as file:
            names = {parts[0] for parts in file.listdir() if len(parts) == 1}
    except FOREIGN as error:
        raise UnfitError("This file is damaged: it cannot be opened.") from error
    for name, said in _UNREAD:
        if name in names:
            raise UnfitError(said)
    for name, kind in _READ:
        if name in names:
            return kind
    raise UnfitError("It is in a format that is not read: save it as PDF or DOCX.")
