"""Secrets in what is to be remembered: keys, passwords, card numbers. `NewFact.checked` refuses them.

What is recalled goes to the model's provider and onto screens; a secret belongs
into a password manager. Precision comes first: phone numbers, birthdays, order
numbers, ISBNs and UUIDs are none.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_Finder = Callable[[str], bool]


def secret_in(text: str) -> str | None:
    """What kind of secret a text holds, in words; None where it holds none."""
    return next((kind for kind, holds in _KINDS if holds(text)), None)


_KEYS = re.compile(
    r"(?<![\w-])(?:sk-[\w-]{20,}|[sr]k_(?:live|test)_\w{16,}|(?:AKIA|ASIA)[0-9A-Z]{16}|gh[pousr]_\w{30,}"
    r"|github_pat_\w{40,}|glpat-[\w-]{20,}|xox[abeprs]-[\w-]{10,}|AIza[\w-]{35}|hf_\w{30,}|npm_\w{36}"
    r"|pypi-\w{20,}|SG\.[\w-]{16,}\.[\w-]{16,}|whsec_\w{20,}|ya29\.[\w-]{20,}|dop_v1_\w{40,}"
    r"|(?i:bearer) [\w.~+/=-]{16,}|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*|AGE-SECRET-KEY-1\w{50,})"
)
"""Formats that providers publish, so that such keys can be found."""
_PRIVATE = re.compile(r"-----BEGIN (?:[A-Z]+ ){0,3}PRIVATE KEY-----")
_NAMED_KEY = re.compile(
    r"\b(?:(?:api|access|secret|auth|private|encryption|licen[cs]e|client|session|bearer)[ _-]?"
    r"(?:key|token|secret)s?|(?:access|refresh|bearer|auth|bot) token)\b"
    r"(?: for [\w .-]{1,40}?)?\s*(?:is|are|was|:|=|->)?\s*['\"`]?(?P<value>[\w.+/=~-]{8,})",
    re.IGNORECASE,
)
_PASSWORD = re.compile(
    r"\b(?:pass(?:word|code|phrase)|pwd|wi-?fi key)s?\b(?: (?:for|to|of|on|at) [\w .'@-]{1,40}?)?"
    r"(?:\s*(?::|=|->)\s*|\s+(?:is|was|are)(?: now| still)?(?: set to)?:?\s+)['\"`]?(?P<value>\S.*)",
    re.IGNORECASE,
)
_PIN = re.compile(
    r"\bpin(?: code| number)?\b(?: (?:for|to|of|on) [\w .'-]{1,40}?)?\s*(?:is|was|:|=)\s*['\"]?\d{4,8}\b",
    re.IGNORECASE,
)
_PHRASE = re.compile(
    r"\b(?:seed|recovery|mnemonic|backup) (?:phrase|words)\b[^:]{0,40}?(?:\bis\b|\bare\b|:)\s*"
    r"(?:[a-z]{3,8}[ ,]+){7,}[a-z]{3,8}",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"\b(?:(?:one[- ]time|verification|confirmation|log-?in|sign-in|authentication|authenticator|2fa|mfa"
    r"|two[- ]factor|sms|otp|security) (?:code|password|passcode|pin|token)|otp)\b(?: for [\w .-]{1,30}?)?"
    r"\s*(?:is|was|:|=)?\s*['\"]?\d(?:[ -]?\d){3,7}\b(?![/.-]\d)",
    re.IGNORECASE,
)
_CVV = re.compile(r"\b(?:cvv|cvc|cvv2|card security code)\b\D{0,12}\d{3,4}\b", re.IGNORECASE)
_SOCIAL = re.compile(
    r"\b(?:ssn|social security(?: number)?)\b\D{0,12}\d{3}[- ]?\d{2}[- ]?\d{4}\b", re.IGNORECASE
)
_IN_URL = re.compile(r"\b[a-z][a-z0-9+.-]{0,40}://[^\s:/@]+:[^\s:/@]+@", re.IGNORECASE)
_DIGITS = re.compile(r"(?<![\w+.,-])\d(?:[ -]?\d){12,18}(?![\w-]|[.,]\d)")
_NO_CARD = re.compile(
    r"\b(?:order|tracking|invoice|ticket|booking|reservation|parcel|serial|imei|isbn|ean|gtin|phone|mobile|tel"
    r"|fax|barcode|shipment|reference|case|meter|member(?:ship)?|loyalty|library)\b[^\d]*$",
    re.IGNORECASE,
)
_CARDS = (
    (re.compile(r"4"), frozenset((13, 16, 19))),
    (re.compile(r"5[1-5]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)"), frozenset((16,))),
    (re.compile(r"3[47]"), frozenset((15,))),
    (re.compile(r"6(?:011|4[4-9]|5|2)|35(?:2[89]|[3-8])"), frozenset(range(16, 20))),
    (re.compile(r"3(?:0[0-5]|[689])"), frozenset((14,))),
)
"""Beginnings and lengths of the numbers of the large card networks (ISO/IEC 7812)."""
_IBAN = re.compile(r"(?<!\w)[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}(?!\w)")
_NOT_SAID_WORDS = """
    a an the in on at not no very too quite so same different stored saved kept written changed expired
    strong weak long short safe secure unsafe secret private hidden unknown forgotten lost required needed
    wrong right correct reset managed protected encrypted shared public easy hard old new okay fine known my
    his her their our your it that this with by from for under inside never always something what only
    important essential visible hashed empty blank disabled enabled case one being been set due compromised
    leaked reused unique complicated simple missing optional mandatory
"""
_NOT_SAID = frozenset(_NOT_SAID_WORDS.split())
_LEAST_PASSWORD = 4


def _names_key(text: str) -> bool:
    return any(
        any(char.isdigit() for char in value) and any(char.isalpha() for char in value)
        for value in (match["value"] for match in _NAMED_KEY.finditer(text))
    )


def _tells_password(text: str) -> bool:
    """A password, not what is said of one ("my password is in the safe")."""
    for match in _PASSWORD.finditer(text):
        words = [word.strip("'\"`.,;!?()") for word in match["value"].split()]
        if len(words[0]) < _LEAST_PASSWORD or words[0].casefold() in _NOT_SAID:
            continue
        # One plain word with more behind it is what somebody says of a password.
        if len(words) == 1 or not words[0].isalpha() or not words[0].islower() or "phrase" in match.group():
            return True
    return False


def _has_card(text: str) -> bool:
    return any(
        _is_card(re.sub(r"\D", "", match.group())) and not _NO_CARD.search(text, 0, match.start())
        for match in _DIGITS.finditer(text)
    )


def _is_card(digits: str) -> bool:
    issued = any(begins.match(digits) and len(digits) in lengths for begins, lengths in _CARDS)
    return issued and _luhn(digits)


def _luhn(digits: str) -> bool:
    """The check digit of ISO/IEC 7812-1, annex B."""
    doubled = [int(digit) * (2 if place % 2 else 1) for place, digit in enumerate(reversed(digits))]
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0  # noqa: PLR2004


def _has_iban(text: str) -> bool:
    """Checked by remainder of 97 (ISO 7064, as ISO 13616 has it)."""
    for match in _IBAN.finditer(text):
        number = match.group().replace(" ", "")
        for end in range(len(number), _LEAST_IBAN - 1, -1):
            moved = number[4:end] + number[:4]
            if int("".join(str(int(char, 36)) for char in moved)) % 97 == 1:
                return True
    return False


_LEAST_IBAN = 15

_KINDS: tuple[tuple[str, _Finder], ...] = (
    ("a private key", lambda text: _PRIVATE.search(text) is not None),
    ("an API key or token", lambda text: _KEYS.search(text) is not None or _names_key(text)),
    ("a password", lambda text: _tells_password(text) or _IN_URL.search(text) is not None),
    ("a PIN", lambda text: _PIN.search(text) is not None),
    ("a recovery phrase", lambda text: _PHRASE.search(text) is not None),
    ("a one-time code", lambda text: _CODE.search(text) is not None),
    ("a card number", lambda text: _has_card(text) or _CVV.search(text) is not None),
    ("a bank account number (IBAN)", _has_iban),
    ("a social security number", lambda text: _SOCIAL.search(text) is not None),
)
