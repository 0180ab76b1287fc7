"""The stand-in's files: contents with ETags, and what is told of them.

Source: DIAL Core at 8c78cb9, `ResourceService`, `EtagHeader`, `FileMetadataController` and their tests.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from benchmarks.stand_ins.dial_core.refusal import RefusalError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MAX_PATH_BYTES = 900
_MAX_LIMIT = 1000
_BAD_REQUEST, _NOT_FOUND, _PRECONDITION = 400, 404, 412


@dataclass(frozen=True, slots=True)
class Place:
    """A resource's address: its bucket and the decoded names behind it; a folder ends with a slash."""

    bucket: str
    names: tuple[str, ...]
    is_folder: bool

    @classmethod
    def parse(cls, raw: str) -> Place:
        """The place that a URL names behind `files/`.

        Raises:
            RefusalError: a name in it cannot be one.
        """
        bucket, *parts = raw.split("/")
        is_folder = not parts or not parts[-1]
        names = tuple(unquote(part) for part in (parts[:-1] if is_folder else parts))
        if any(not name or {*name} & {"/", "{", "}"} for name in names):
            raise RefusalError(_BAD_REQUEST, f"Bad resource path: files/{raw}")
        if len("/".join(names).encode()) > _MAX_PATH_BYTES:
            raise RefusalError(_BAD_REQUEST, "Resource path exceeds max allowed size: 900")
        return cls(bucket, names, is_folder)

    @property
    def key(self) -> str:
        """Bucket and path, decoded."""
        return "/".join((self.bucket, *self.names)) + ("/" if self.is_folder else "")

    @property
    def url(self) -> str:
        """The address as metadata has it, percent-encoded."""
        path = "/".join(quote(name, safe="") for name in self.names)
        return f"files/{self.bucket}/{path}" + ("/" if self.is_folder and path else "")


@dataclass(frozen=True, slots=True)
class Content:
    """One version of a file; times are milliseconds."""

    body: bytes
    media_type: str
    created_at: int
    updated_at: int

    @property
    def etag(self) -> str:
        """MD5 of the content, hexadecimal, without quotes: as Core has it."""
        return hashlib.md5(self.body, usedforsecurity=False).hexdigest()


@dataclass(slots=True)
class Files:
    """All files, by bucket and path."""

    contents: dict[str, Content] = field(default_factory=dict[str, Content])

    def get(self, place: Place) -> Content | None:
        """The file there, if there is one.

        Raises:
            RefusalError: the place is a folder.
        """
        if place.is_folder:
            raise RefusalError(_BAD_REQUEST, "Can't download a folder")
        return self.contents.get(place.key)

    def put(self, place: Place, body: bytes, media_type: str, *, when: Mapping[str, str]) -> Content:
        """Keep a content, under the conditions of the headers `when`.

        Raises:
            RefusalError: the name is none, or a condition does not hold.
        """
        if place.is_folder:
            raise RefusalError(_BAD_REQUEST, "File name is missing")
        if any(name.endswith(".") for name in place.names):
            raise RefusalError(_BAD_REQUEST, "Resource name and/or parent folders must not end with .(dot)")
        known = self.contents.get(place.key)
        _check(known, when)
        now = time.time_ns() // 1_000_000
        kept = Content(body, media_type, known.created_at if known else now, now)
        self.contents[place.key] = kept
        return kept

    def delete(self, place: Place, *, when: Mapping[str, str]) -> None:
        """Remove a file; fine where there is none.

        Raises:
            RefusalError: it is a folder, or a condition does not hold.
        """
        if place.is_folder:
            raise RefusalError(_BAD_REQUEST, "Can't delete a folder")
        _check(self.contents.get(place.key), when)
        self.contents.pop(place.key, None)

    def item(self, place: Place) -> dict[str, Any]:
        """What metadata tells of one file.

        Raises:
            RefusalError: 404 with an empty body.
        """
        content = self.contents.get(place.key)
        if content is None:
            raise RefusalError(_NOT_FOUND)
        return _node(place, "ITEM") | {
            "createdAt": content.created_at,
            "updatedAt": content.updated_at,
            "etag": content.etag,
            "contentLength": len(content.body),
            "contentType": content.media_type,
        }

    def listing(self, place: Place, query: Mapping[str, str]) -> dict[str, Any]:
        """What metadata tells of a folder, by the page. Its items have neither ETag nor true length.

        Raises:
            RefusalError: the limit is no number of 0 to 1000, or the folder is not there.
        """
        limit = query.get("limit", "100")
        if not limit.isdecimal() or int(limit) > _MAX_LIMIT:
            raise RefusalError(_BAD_REQUEST, "Limit is out of allowed range: [0, 1000]")
        below = [key for key in sorted(self.contents) if key.startswith(place.key)]
        if not below and place.names:
            raise RefusalError(_NOT_FOUND)
        found = self._below(place, below, recursive=query.get("recursive") == "true")
        start = int(token) if (token := query.get("token", "0")).isdecimal() else 0
        end = start + int(limit)
        rights = {"permissions": ["READ", "WRITE"]} if query.get("permissions") == "true" else {}
        items = [item | rights for item in found[start:end]]
        more = {"nextToken": str(end)} if end < len(found) else {}
        return _node(place, "FOLDER") | {"items": items} | more | rights

    def _below(self, place: Place, keys: Sequence[str], *, recursive: bool) -> list[dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for key in keys:
            names = tuple(key.split("/")[1:])
            depth = len(place.names) + 1
            if len(names) > depth and not recursive:
                folder = Place(place.bucket, names[:depth], is_folder=True)
                found.setdefault(folder.url, _node(folder, "FOLDER") | {"items": None})
            else:
                item = Place(place.bucket, names, is_folder=False)
                told = {"contentLength": 0, "contentType": self.contents[key].media_type}
                found[item.url] = _node(item, "ITEM") | told
        return list(found.values())


def _node(place: Place, kind: str) -> dict[str, Any]:
    name = place.names[-1] if place.names else ""
    parent = "/".join(place.names[:-1])
    return {
        "name": name,
        "parentPath": parent or None,
        "bucket": place.bucket,
        "url": place.url,
        "nodeType": kind,
        "resourceType": "FILE",
    }


def _check(known: Content | None, when: Mapping[str, str]) -> None:
    """What If-Match and If-None-Match ask. If-Match holds where there is nothing: Core says so."""
    unless = when.get("If-None-Match")
    if unless is not None and unless != "*":
        raise RefusalError(_BAD_REQUEST, "only header if-none-match=* is supported")
    if unless == "*" and known is not None:
        raise RefusalError(_PRECONDITION, "Resource already exists")
    match = when.get("If-Match")
    if match is not None and known is not None:
        tags = {tag.strip().strip('"') for tag in match.split(",")}
        if not tags & {"*", known.etag}:
            raise RefusalError(_PRECONDITION, f"ETag {match} is rejected")
