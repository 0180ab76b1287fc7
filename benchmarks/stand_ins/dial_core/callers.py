"""Who asks the stand-in: keys of projects, and keys that live as long as one request to an application.

Source: DIAL Core at 8c78cb9, `Proxy`, `ApiKeyStore`, `BucketBuilder`, `AccessService`.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote

from benchmarks.stand_ins.dial_core.refusal import RefusalError

if TYPE_CHECKING:
    from collections.abc import Mapping

_UNAUTHORIZED, _FORBIDDEN, _BAD_REQUEST = 401, 403, 400


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever holds a key: its own bucket, and the one of the user who began the request.

    `deployment` is the application whom a per-request key was given to, None for
    a project's own key; `attached` are the files that came with its request.
    """

    bucket: str
    initiator: str
    deployment: str | None = None
    attached: frozenset[str] = frozenset()

    @property
    def appdata(self) -> str | None:
        """Where an application keeps data of the user, as `GET /v1/bucket` names it."""
        return self.deployment and f"{self.initiator}/appdata/{quote(self.deployment, safe='')}"

    def check(self, place: str, *, writing: bool) -> None:
        """Refuse what this key may not do with the resource at `place` (bucket and path, decoded).

        Raises:
            RefusalError: 403, whether there is such a resource or not.
        """
        own = place.startswith(f"{self.bucket}/")
        # Core compares the beginning without a separator behind it: so does this.
        data = self.deployment is not None and place.startswith(f"{self.initiator}/appdata/{self.deployment}")
        if not (own or data or (not writing and place in self.attached)):
            raise RefusalError(_FORBIDDEN, f"You don't have an access to: files/{place}")


@dataclass(slots=True)
class Callers:
    """All keys. `projects` names a project by its key; each has a bucket."""

    projects: Mapping[str, str]
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(16), repr=False)
    _buckets: set[str] = field(default_factory=set[str])
    _issued: dict[str, Caller] = field(default_factory=dict[str, Caller], repr=False)

    def of(self, headers: Mapping[str, str]) -> Caller:
        """Whoever sent these headers.

        Raises:
            RefusalError: there is no key, or none that is known.
        """
        key, token = headers.get("api-key"), headers.get("Authorization", "").removeprefix("Bearer ")
        if not key and not token:
            raise RefusalError(_UNAUTHORIZED, "At least API-KEY or Authorization header must be provided")
        if key and token and key != token:
            raise RefusalError(_BAD_REQUEST, "Either API-KEY or Authorization header must be provided")
        if not key:
            raise RefusalError(_UNAUTHORIZED, "Bad Authorization header")
        if (issued := self._issued.get(key)) is not None:
            return issued
        if key not in self.projects:
            raise RefusalError(_UNAUTHORIZED, "Unknown api key")
        bucket = self.bucket(f"Keys/{self.projects[key]}/")
        return Caller(bucket, bucket)

    def bucket(self, location: str) -> str:
        """The opaque name of a location's bucket: letters and digits."""
        name = hashlib.sha256(self._secret + location.encode()).hexdigest()[:44]
        self._buckets.add(name)
        return name

    def is_bucket(self, name: str) -> bool:
        """Whether it can be the name of a bucket."""
        return name in self._buckets

    def issue(self, caller: Caller, deployment: str, attached: frozenset[str]) -> str:
        """A key for one request to an application, on behalf of the caller; `end` it with the answer."""
        key = secrets.token_hex(24)
        self._issued[key] = Caller(self.bucket(f"Keys/{deployment}/"), caller.initiator, deployment, attached)
        return key

    def end(self, key: str) -> None:
        """The key is known no more."""
        self._issued.pop(key, None)
