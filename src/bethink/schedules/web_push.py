"""Web Push without a service in between: the message sealed for one browser, and who sends it.

Sources: RFC 8291 (encryption), RFC 8188 (its content coding, one record), RFC 8292 (VAPID).
`delivery` sends what is made here.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from bethink.errors import BadInput

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey

MAX_MESSAGE_BYTES: Final = 3_000
"""Push services take 4,096 bytes of a message with all that is around it (RFC 8030, 7.2)."""
_RECORD_BYTES: Final = 4_096
_POINT_BYTES: Final = 65
_SECRET_BYTES: Final = 16
_TOKEN_S: Final = 12 * 3_600
"""Seconds for which a token holds; services refuse more than a day (RFC 8292, 2)."""


@dataclass(frozen=True, slots=True)
class Browser:
    """Where a browser takes messages, and its keys: its public key and its secret, in base64url."""

    endpoint: str
    p256dh: str
    auth: str

    def check(self) -> None:
        """Nothing, if messages can be sealed for it.

        Raises:
            BadInput: its keys are none.
        """
        from cryptography.hazmat.primitives.asymmetric import ec

        try:
            ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), _unpacked(self.p256dh))
            is_secret = len(_unpacked(self.auth)) == _SECRET_BYTES
        except ValueError:
            is_secret = False
        if not is_secret:
            raise BadInput(
                "This is no Web Push subscription: its keys p256dh and auth are not as a browser's."
            )


@dataclass(frozen=True, slots=True)
class Vapid:
    """The key pair by which push services know this Bethink; `private` is a number in base64url."""

    private: str = field(repr=False)

    @classmethod
    def made(cls) -> Vapid:
        """A new one."""
        from cryptography.hazmat.primitives.asymmetric import ec

        number = ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value
        return cls(_packed(number.to_bytes(32)))

    @property
    def public(self) -> str:
        """The public key as a browser wants it (`applicationServerKey`)."""
        return _packed(_point(self._key().public_key()))

    def authorization(self, origin: str, now_s: int, contact: str) -> str:
        """The `Authorization` header for a push service at an origin (RFC 8292, 3)."""
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

        claims = {"aud": origin, "exp": now_s + _TOKEN_S} | ({"sub": contact} if contact else {})
        parts = ({"typ": "JWT", "alg": "ES256"}, claims)
        signed = ".".join(_packed(json.dumps(part, separators=(",", ":")).encode()) for part in parts)
        numbers = decode_dss_signature(self._key().sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
        signature = _packed(b"".join(number.to_bytes(32) for number in numbers))
        return f"vapid t={signed}.{signature}, k={self.public}"

    def _key(self) -> EllipticCurvePrivateKey:
        from cryptography.hazmat.primitives.asymmetric import ec

        return ec.derive_private_key(int.from_bytes(_unpacked(self.private)), ec.SECP256R1())


def sealed(
    message: bytes, browser: Browser, *, salt: bytes | None = None, number: int | None = None
) -> bytes:
    """A message that only the browser reads, as the body of a request (RFC 8291, 3.4).

    `salt` and the `number` of the sender's key for this one message are random, but in tests.
    """
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    salt = salt or secrets.token_bytes(16)
    curve = ec.SECP256R1()
    own = ec.generate_private_key(curve) if number is None else ec.derive_private_key(number, curve)
    theirs = _unpacked(browser.p256dh)
    shared = own.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(curve, theirs))
    point = _point(own.public_key())
    # HKDF (RFC 5869) twice, of which each step gives no more than one block.
    material = _expanded(_extracted(_unpacked(browser.auth), shared), b"WebPush: info\0" + theirs + point, 32)
    key = _extracted(salt, material)
    content = AESGCM(_expanded(key, b"Content-Encoding: aes128gcm\0", 16)).encrypt(
        _expanded(key, b"Content-Encoding: nonce\0", 12), message + b"\x02", None
    )
    return salt + _RECORD_BYTES.to_bytes(4) + bytes([_POINT_BYTES]) + point + content


def _point(key: EllipticCurvePublicKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _extracted(salt: bytes, material: bytes) -> bytes:
    return hmac.digest(salt, material, hashlib.sha256)


def _expanded(key: bytes, info: bytes, length: int) -> bytes:
    return hmac.digest(key, info + b"\x01", hashlib.sha256)[:length]


def _packed(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _unpacked(text: str) -> bytes:
    return base64.urlsafe_b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4))
