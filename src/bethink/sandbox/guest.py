"""What runs in the sandbox first: it shuts the door behind itself, then runs what it was told.

`confinement` hands this file's text to `python -I -S -B -c`, so it stands on the
standard library alone and imports nothing of Bethink. Its orders come as
JSON through standard input; the last of them is the program to run. What
`programs` starts needs its standard input, and has its orders as an argument.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import struct
import sys
from typing import Any

_SYSCALLS = {"landlock_create_ruleset": 444, "landlock_add_rule": 445, "landlock_restrict_self": 446}
_SET_MODE_FILTER, _FOR_ALL_THREADS = 1, 1
_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP = 1, 24, 38, 22
_SIGKILL, _SECCOMP_MODE_FILTER = 9, 2
_CAPABILITY_VERSION_3, _LAST_POSSIBLE_CAPABILITY = 0x20080522, 63
_INSTRUCTION_BYTES, _WORD_AT = 8, 4
_LAST_FD = 1024
_PORTS = 1 << 16

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Read the orders, confine this process, and run. What `forks` filters the calls of its copies alone."""
    if len(sys.argv) > 1:
        orders = json.loads(sys.argv[1])
    else:
        orders = json.loads(_read_all(0))
        os.dup2(os.open(os.devnull, os.O_RDWR) if orders["source"] is None else orders["source"], 0)
        os.umask(0o077)
        os.environ.clear()
        os.environ.update(orders["environment"])
    os.closerange(3, _LAST_FD)
    # The leader of a group of its own: an interrupt finds this process alone.
    if os.getpgrp() != os.getpid():
        os.setsid()
    for name, value in orders["limits"].items():
        resource.setrlimit(getattr(resource, name), (value, value))
    for capability in range(_LAST_POSSIBLE_CAPABILITY + 1):
        _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    header = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITY_VERSION_3, 0))
    _checked(_libc.capset(header, ctypes.create_string_buffer(24)), "capset")
    if parent := orders["parent"]:
        _checked(_libc.prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0), "prctl")
        if os.getppid() != parent:
            os._exit(1)
    _checked(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")
    if rules := orders["landlock"]:
        _restrict(rules)
    os.chdir(orders["directory"])
    if not orders["forks"]:
        _filter_calls(orders["filter"])
    sys.path.extend(orders["path"])
    program = compile(orders["program"], "<sandbox>", "exec")
    scope = {
        "__name__": "__sandbox__",
        "orders": orders,
        "restrict_further": _restrict_further,
        "confine": lambda: _filter_calls(orders["filter"]),
    }
    exec(program, scope)  # noqa: S102 - what this process is for


def _read_all(descriptor: int) -> bytes:
    parts: list[bytes] = []
    while part := os.read(descriptor, 1 << 16):
        parts.append(part)
    return b"".join(parts)


def _restrict(rules: dict[str, Any]) -> None:
    """Landlock: source is landlock(7). A path that is missing needs no rule.

    There is no rule for all ports but one: all others have one each, which takes a tenth of a second.
    """
    attributes = struct.pack("=QQQ", rules["files"], rules["net"], rules["scope"])[: rules["size"]]
    ruleset = _call("landlock_create_ruleset", attributes, len(attributes), 0)
    for path, access in rules["paths"]:
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        rule = struct.pack("=Qi", access, place)
        _call("landlock_add_rule", ruleset, 1, rule, 0)
        os.close(place)
    if closed := rules.get("closed_port"):
        for port in range(1, _PORTS):
            if port != closed:
                _call("landlock_add_rule", ruleset, 2, struct.pack("=QQ", rules["net"], port), 0)
    _call("landlock_restrict_self", ruleset, 0)
    os.close(ruleset)


def _filter_calls(orders: dict[str, Any]) -> None:
    program = bytearray.fromhex(orders["program"])
    for places, value in ((orders["pid_at"], os.getpid()), (orders["group_at"], -os.getpid())):
        for place in places:
            struct.pack_into("=I", program, place * _INSTRUCTION_BYTES + _WORD_AT, value & 0xFFFFFFFF)
    header, _code = _installable(bytes(program))
    _checked(_libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, header, 0, 0), "seccomp")


def _restrict_further(orders: dict[str, Any]) -> None:
    """A second filter over all threads, those that a library started included."""
    header, _code = _installable(bytes.fromhex(orders["program"]))
    _checked(_libc.syscall(orders["call"], _SET_MODE_FILTER, _FOR_ALL_THREADS, header), "seccomp")


def _installable(program: bytes) -> tuple[Any, Any]:
    """The kernel's `sock_fprog`, and what it points at, which must outlive it."""
    code = ctypes.create_string_buffer(program, len(program))
    count = len(program) // _INSTRUCTION_BYTES
    return ctypes.create_string_buffer(struct.pack("@HP", count, ctypes.addressof(code))), code


def _call(name: str, *arguments: Any) -> int:  # noqa: ANN401 - what ctypes takes
    return _checked(_libc.syscall(_SYSCALLS[name], *arguments), name)


def _checked(result: int, name: str) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")
    return result


main()
