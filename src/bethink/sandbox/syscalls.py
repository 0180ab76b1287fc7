"""The system calls that confined code may make, by name, with their numbers. `seccomp` reads it.

Everything that is not here is refused. The numbers are the kernel's interface and never change; their
source is `asm/unistd_64.h` (x86-64) and `asm-generic/unistd.h` (aarch64) of Linux. An entry is
`name:x86-64:aarch64`; `-` stands where an architecture lacks the call.
"""

from __future__ import annotations

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

_COLUMNS: Final[dict[Machine, int]] = {"x86_64": 1, "aarch64": 2}


def allowed(machine: Machine) -> dict[str, int]:
    """Numbers of the calls that may be made with any arguments, by name."""
    return _numbers(_ALLOWED, machine)


def judged(machine: Machine) -> dict[str, int]:
    """Numbers of the calls that their arguments decide about, by name."""
    return _numbers(_JUDGED, machine)


def serving(machine: Machine) -> dict[str, int]:
    """Numbers of the calls that only an interpreter's start may make, by name."""
    return _numbers(_SERVING, machine)


def pretended(machine: Machine) -> dict[str, int]:
    """Numbers of the calls that seem to work and change nothing, by name."""
    return _numbers(_PRETENDED, machine)


def unsupported(machine: Machine) -> dict[str, int]:
    """Numbers of the calls that a file system need not support, by name."""
    return _numbers(_UNSUPPORTED, machine)


def _numbers(table: str, machine: Machine) -> dict[str, int]:
    entries = (entry.split(":") for entry in table.split())
    return {entry[0]: int(entry[_COLUMNS[machine]]) for entry in entries if entry[_COLUMNS[machine]] != "-"}
