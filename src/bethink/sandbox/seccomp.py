"""The filter of system calls, as a classic BPF program; both Linux adapters hand it to the guest.

The guest installs it in itself, after its exec and before it reads a word of
foreign code. It is a list of what is allowed: a call that a newer kernel adds
is refused. Source: seccomp(2), Linux `Documentation/userspace-api/seccomp_filter.rst`.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

Machine = Literal["x86_64", "aarch64"]

_ALLOWED: Final = """
    read:0:63 write:1:64 readv:19:65 writev:20:66 pread64:17:67 pwrite64:18:68 preadv:295:69 pwritev:296:70
    preadv2:327:286 pwritev2:328:287 lseek:8:62 close:3:57
    creat:85:- dup:32:23 dup2:33:- dup3:292:24 fstat:5:80 stat:4:- lstat:6:- newfstatat:262:79 statx:332:291
    access:21:- faccessat:269:48 faccessat2:439:439 readlink:89:- readlinkat:267:78 getdents:78:-
    getdents64:217:61 getcwd:79:17 chdir:80:49 fchdir:81:50 mkdir:83:- mkdirat:258:34 rmdir:84:- unlink:87:-
    unlinkat:263:35 rename:82:- renameat:264:38 renameat2:316:276 ftruncate:77:46 fsync:74:82
    fdatasync:75:83 fadvise64:221:223 flock:73:32 umask:95:166 statfs:137:43 fstatfs:138:44
    sendfile:40:71 copy_file_range:326:285 munmap:11:215 mprotect:10:226 mremap:25:216
    madvise:28:233 brk:12:214 msync:26:227 futex:202:98 set_robust_list:273:99 get_robust_list:274:100
    rseq:334:293 membarrier:324:283 set_tid_address:218:96 gettid:186:178 getpid:39:172 getppid:110:173
    getuid:102:174 geteuid:107:175 getgid:104:176 getegid:108:177 getgroups:115:158 getresuid:118:148
    getresgid:120:150 getpgid:121:155 getpgrp:111:- getsid:124:156 getrlimit:97:163 getrusage:98:165
    times:100:153 sysinfo:99:179 uname:63:160 getrandom:318:278 getcpu:309:168 clock_gettime:228:113
    clock_getres:229:114 clock_nanosleep:230:115 nanosleep:35:101 gettimeofday:96:169 time:201:-
    rt_sigaction:13:134 rt_sigprocmask:14:135 rt_sigreturn:15:139 rt_sigpending:127:136
    rt_sigtimedwait:128:137 rt_sigsuspend:130:133 sigaltstack:131:132 restart_syscall:219:128 pause:34:-
    alarm:37:- getitimer:36:102 setitimer:38:103 poll:7:- ppoll:271:73 select:23:- pselect6:270:72
    epoll_create:213:- epoll_create1:291:20 epoll_ctl:233:21 epoll_wait:232:- epoll_pwait:281:22
    epoll_pwait2:441:441 eventfd:284:- eventfd2:290:19 pipe:22:- pipe2:293:59
    getsockname:51:204 getpeername:52:205 getsockopt:55:209 shutdown:48:210 recvfrom:45:207 recvmsg:47:212
    sched_yield:24:124
    sched_getaffinity:204:123 sched_getparam:143:121 sched_getscheduler:145:120
    sched_get_priority_max:146:125 sched_get_priority_min:147:126 exit:60:93 exit_group:231:94
    arch_prctl:158:-
"""
"""What computing, reading and writing open files, threads and waiting need: it reaches nobody else.

Not `sendmsg`: it hides open files in sockets, where nobody counts what they take of the disk.
"""

_SERVING: Final = """
    bind:49:200 listen:50:201 seccomp:317:277
"""
"""What an interpreter's own sockets need until they are there; `after_start` takes it away again."""

SECCOMP_CALL: Final[dict[Machine, int]] = {"x86_64": 317, "aarch64": 277}

_JUDGED: Final = """
    open:2:- openat:257:56 mmap:9:222 fcntl:72:25 ioctl:16:29 socket:41:198 socketpair:53:199 sendto:44:206
    setsockopt:54:208 accept:43:202 accept4:288:242 close_range:436:436 kill:62:129 tgkill:234:131
    clone:56:220 clone3:435:435 prctl:157:167 prlimit64:302:261
    sched_setaffinity:203:122
"""
"""Allowed or not by their arguments."""

_PRETENDED: Final = """
    sched_setscheduler:144:119 sched_setparam:142:118
    chmod:90:- fchmod:91:52 fchmodat:268:53 fchmodat2:452:452 chown:92:- fchown:93:55 lchown:94:-
    fchownat:260:54 utime:132:- utimes:235:- utimensat:280:88 futimesat:261:- setxattr:188:5 lsetxattr:189:6
    fsetxattr:190:7 removexattr:197:14 lremovexattr:198:15 fremovexattr:199:16
"""
"""Answered with success and not done. Landlock has no right for metadata, and `shutil.copy` fails without;
libzmq sets its threads' scheduling, by numbers of threads that cannot be told from others' processes.
"""

_UNSUPPORTED: Final = """
    fallocate:285:47
    getxattr:191:8 lgetxattr:192:9 fgetxattr:193:10 listxattr:194:11 llistxattr:195:12 flistxattr:196:13
"""
"""Answered as a file system would that lacks them: `fallocate` takes a whole disk in one call."""

_NOT_FOR_PROGRAMS: Final = """
    unshare:272:97 setns:308:268 mount:165:40 umount2:166:39 pivot_root:155:41 keyctl:250:219 add_key:248:217
    request_key:249:218 bpf:321:280 perf_event_open:298:241 userfaultfd:323:282 open_by_handle_at:304:265
    fsopen:430:430 fsmount:432:432 move_mount:429:429 open_tree:428:428 mount_setattr:442:442
"""
"""What no server of tools needs: it changes the machine, or reaches the keys of whoever runs it."""

_MISSING_TO_PROGRAMS: Final = """
    io_uring_setup:425:425 clone3:435:435
"""
"""Said not to exist: their arguments lie in memory, where no filter sees them, and others do the same."""

_COLUMNS: Final[dict[Machine, int]] = {"x86_64": 1, "aarch64": 2}


def _numbers(table: str, machine: Machine) -> dict[str, int]:
    """The calls of a table by name; an entry is `name:x86-64:aarch64`, a dash where a machine has none.

    Source: `asm/unistd_64.h` (x86-64) and `asm-generic/unistd.h` (aarch64) of Linux.
    """
    entries = (entry.split(":") for entry in table.split())
    return {entry[0]: int(entry[_COLUMNS[machine]]) for entry in entries if entry[_COLUMNS[machine]] != "-"}


ARCHITECTURES: Final[dict[Machine, int]] = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""AUDIT_ARCH_* of `linux/audit.h`."""

LOAD: Final = 0x20  # BPF_LD | BPF_W | BPF_ABS
AND: Final = 0x54  # BPF_ALU | BPF_AND | BPF_K
EQUAL: Final = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
AT_LEAST: Final = 0x35  # BPF_JMP | BPF_JGE | BPF_K
RETURN: Final = 0x06  # BPF_RET | BPF_K

ALLOW: Final = 0x7FFF0000
KILL: Final = 0x80000000
_ERRNO: Final = 0x00050000

NUMBER_AT, ARCHITECTURE_AT, ARGUMENTS_AT = 0, 4, 16
"""Offsets in `struct seccomp_data`; arguments are 64 bits each, the low half first on both machines."""

_X32: Final = 0x40000000
"""Numbers from here on are x86-64's third interface, which nobody needs."""

_AF_UNIX, _SOCK_STREAM, _SOCK_TYPE = 1, 1, 0xF
_AF_INET, _AF_INET6, _AF_NETLINK = 2, 10, 16
_IPPROTO_MPTCP: Final = 262
"""TCP over several paths, which Landlock does not take for TCP."""
_CLONE_THREAD, _CLONE_FILES = 0x10000, 0x400
_CLONE_NAMESPACES: Final = 0x7E020080
"""CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET and NEWTIME."""
_PR_SET_NAME, _PR_GET_NAME = 15, 16
_IOCTLS: Final = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX: terminals asked about, never written to."""
_O_ACCMODE_AND_TRUNC, _O_TRUNC = 0o1003, 0o1000
_FCNTLS: Final = (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030, 1032)
"""Duplicating, flags and locks: not F_SETOWN, which sends signals to others, nor F_SETPIPE_SZ."""
_SHARED_MEMORY: Final = 0x21
"""MAP_SHARED with MAP_ANONYMOUS: what is unmapped of it, but for one page, stays and is nobody's any more."""
_BUFFER_SIZES: Final = (7, 8, 32, 33)
"""SO_SNDBUF, SO_RCVBUF and what forces them: memory of the machine's kernel, which no limit counts."""
_CLOSE_RANGE_CLOEXEC: Final = 4
_SET_MODE_FILTER, _FOR_ALL_THREADS = 1, 1


@dataclass(frozen=True, slots=True)
class Instruction:
    """One BPF instruction; `value` is its `k`. `owner` says how the guest mends it by its own process id."""

    code: int
    value: int
    if_true: int = 0
    if_false: int = 0
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Filter:
    """A program as bytes, and where the guest's process id (`pid`), or its negative (`group`), goes."""

    program: bytes
    pid_at: tuple[int, ...]
    group_at: tuple[int, ...]


def _refused(number: int) -> Instruction:
    return Instruction(RETURN, _ERRNO | number)


_ALLOW: Final = Instruction(RETURN, ALLOW)
_DENIED: Final = _refused(errno.EPERM)


def build_filter(machine: Machine, *, serves: bool = False) -> Filter:
    """The filter for code on `machine`. A process that `serves` may make sockets until `after_start`."""
    program = instructions(machine, serves=serves)
    return Filter(
        _packed(program),
        tuple(place for place, one in enumerate(program) if one.owner == "pid"),
        tuple(place for place, one in enumerate(program) if one.owner == "group"),
    )


def program_filter(machine: Machine, *, network: bool, own_network: bool) -> bytes:
    """The filter for a program that may start others: it forbids, where that for code allows.

    Without `network` there are sockets only in an `own_network`, that of nobody else. With it there are no
    local sockets: they would reach what runs beside.
    """
    families = (_AF_NETLINK,)
    if network:
        families = (_AF_INET, _AF_INET6, _AF_NETLINK)
    elif own_network:
        families = (_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK)
    program = [*_beginning(machine), Instruction(AT_LEAST, _X32, 0, 1), _DENIED]
    for table, answer in ((_NOT_FOR_PROGRAMS, _DENIED), (_MISSING_TO_PROGRAMS, _refused(errno.ENOSYS))):
        for number in _numbers(table, machine).values():
            program += _for_call(number, [answer])
    judged = _numbers(_JUDGED, machine)
    program += _for_call(
        judged["socket"],
        [
            *_only(0, families, otherwise=errno.EAFNOSUPPORT),
            _load(2),
            Instruction(EQUAL, _IPPROTO_MPTCP, 0, 1),
            _refused(errno.EPROTONOSUPPORT),
            _ALLOW,
        ],
    )
    spaces = [_load(0), Instruction(AND, _CLONE_NAMESPACES), Instruction(EQUAL, 0, 1, 0), _DENIED, _ALLOW]
    return _packed([*program, *_for_call(judged["clone"], spaces), _ALLOW])


def after_start(machine: Machine) -> bytes:
    """A second filter, before foreign code is read: no more sockets with names, and no more filters."""
    program = _beginning(machine)
    for number in _numbers(_SERVING, machine).values():
        program += _for_call(number, [_DENIED])
    return _packed([*program, _ALLOW])


def instructions(machine: Machine, *, serves: bool = False) -> list[Instruction]:
    """The program of `machine`, in order; its last instruction refuses."""
    program = [*_beginning(machine), Instruction(AT_LEAST, _X32, 0, 1), _DENIED]
    answers = ((_ALLOWED, _ALLOW), (_PRETENDED, _refused(0)), (_UNSUPPORTED, _refused(errno.EOPNOTSUPP)))
    for table, answer in answers:
        for number in _numbers(table, machine).values():
            program += _for_call(number, [answer])
    rules = _rules(serves=serves)
    serving = _numbers(_SERVING, machine) if serves else {}
    for name, number in (_numbers(_JUDGED, machine) | serving).items():
        program += _for_call(number, rules[name])
    return [*program, _DENIED]


def _beginning(machine: Machine) -> list[Instruction]:
    """The call's number is loaded, if it is one of this machine."""
    return [
        Instruction(LOAD, ARCHITECTURE_AT),
        Instruction(EQUAL, ARCHITECTURES[machine], 1, 0),
        Instruction(RETURN, KILL),
        Instruction(LOAD, NUMBER_AT),
    ]


def _packed(program: Sequence[Instruction]) -> bytes:
    return b"".join(struct.pack("=HBBI", one.code, one.if_true, one.if_false, one.value) for one in program)


def _rules(*, serves: bool) -> dict[str, list[Instruction]]:
    accepting, most = _ALLOW if serves else _DENIED, len(_BUFFER_SIZES)
    unix_stream = [
        *_only(0, (_AF_UNIX,), otherwise=errno.EOPNOTSUPP),
        *_only(1, (_SOCK_STREAM,), mask=_SOCK_TYPE, otherwise=errno.EOPNOTSUPP),
        _ALLOW,
    ]
    own = Instruction(EQUAL, 0, 0, 1, owner="pid")
    own_group = Instruction(EQUAL, 0, 0, 1, owner="group")
    return {
        "fcntl": [*_only(1, _FCNTLS, otherwise=errno.EPERM), _ALLOW],
        "ioctl": [*_only(1, _IOCTLS, otherwise=errno.ENOTTY), _ALLOW],
        # libzmq gives up with an assertion where EPERM is answered here.
        "socket": unix_stream,
        "socketpair": unix_stream,
        "open": _no_silent_truncation(1),
        "openat": _no_silent_truncation(2),
        "mmap": [
            _load(3),
            Instruction(AND, _SHARED_MEMORY),
            Instruction(EQUAL, _SHARED_MEMORY, 0, 1),
            _DENIED,
            _ALLOW,
        ],
        "sendto": [*_null(4), _ALLOW],
        "setsockopt": [
            _load(2),
            *(Instruction(EQUAL, size, most - place, 0) for place, size in enumerate(_BUFFER_SIZES)),
            _ALLOW,
            _DENIED,
        ],
        "bind": [_ALLOW],
        "listen": [_ALLOW],
        "accept": [accepting],
        "accept4": [accepting],
        "seccomp": [
            *_only(0, (_SET_MODE_FILTER,), otherwise=errno.EPERM),
            *_only(1, (_FOR_ALL_THREADS,), otherwise=errno.EPERM),
            _ALLOW,
        ],
        # Not with a table of open files of one thread's own, which nobody would count.
        "close_range": [*_only(2, (0, _CLOSE_RANGE_CLOEXEC), otherwise=errno.EINVAL), _ALLOW],
        "kill": [_load(0), own, _ALLOW, own_group, _ALLOW, _DENIED],
        "tgkill": [_load(0), own, _ALLOW, _DENIED],
        "clone": [
            _load(0),
            Instruction(AND, _CLONE_THREAD | _CLONE_FILES | _CLONE_NAMESPACES),
            Instruction(EQUAL, _CLONE_THREAD | _CLONE_FILES, 0, 1),
            _ALLOW,
            _DENIED,
        ],
        # Its arguments lie in memory, which a filter cannot read: glibc falls back to `clone`.
        "clone3": [_refused(errno.ENOSYS)],
        "prctl": [*_only(0, (_PR_SET_NAME, _PR_GET_NAME), otherwise=errno.EINVAL), _ALLOW],
        "prlimit64": [*_null(2), *_own_or_zero(own)],
        "sched_setaffinity": _own_or_zero(own),
    }


def _for_call(number: int, rule: Sequence[Instruction]) -> list[Instruction]:
    """The rule where the call has this number. Every rule ends in a return, so the number stays loaded."""
    return [Instruction(EQUAL, number, 0, len(rule)), *rule]


def _load(argument: int, *, high: bool = False) -> Instruction:
    return Instruction(LOAD, ARGUMENTS_AT + 8 * argument + 4 * high)


def _only(
    argument: int, values: Sequence[int], *, otherwise: int, mask: int | None = None
) -> list[Instruction]:
    """Go on where the argument's low half is one of `values`, else answer the error `otherwise`."""
    masked = [] if mask is None else [Instruction(AND, mask)]
    tests = [Instruction(EQUAL, value, len(values) - place, 0) for place, value in enumerate(values)]
    return [_load(argument), *masked, *tests, _refused(otherwise)]


def _null(argument: int) -> list[Instruction]:
    is_zero = Instruction(EQUAL, 0, 1, 0)
    return [_load(argument), is_zero, _DENIED, _load(argument, high=True), is_zero, _DENIED]


def _own_or_zero(own: Instruction) -> list[Instruction]:
    return [_load(0), Instruction(EQUAL, 0, 0, 1), _ALLOW, own, _ALLOW, _DENIED]


def _no_silent_truncation(flags: int) -> list[Instruction]:
    """Not O_RDONLY with O_TRUNC: it empties a file that Landlock before its third version lets one read."""
    truncates = Instruction(EQUAL, _O_TRUNC, 0, 1)
    return [_load(flags), Instruction(AND, _O_ACCMODE_AND_TRUNC), truncates, _DENIED, _ALLOW]
