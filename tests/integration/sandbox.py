"""Runs a command behind the system call filter of deploy/linkmend.service, without a running systemd.

`python -m tests.integration.sandbox COMMAND...` applies the unit's limits on system calls, address families and
memory.
"""

import ctypes
import errno
import os
import subprocess
import sys
from pathlib import Path

UNIT = Path(__file__).parents[2] / "deploy" / "linkmend.service"

_ALLOW = ctypes.c_uint32(0x7FFF0000)
_REFUSE = ctypes.c_uint32(0x00050000 | errno.EPERM)
_EQUAL = 4
_PR_SET_MDWE = 65
_FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10}


class _Comparison(ctypes.Structure):
    _fields_ = (
        ("argument", ctypes.c_uint),
        ("operator", ctypes.c_int),
        ("one", ctypes.c_uint64),
        ("two", ctypes.c_uint64),
    )


def _values(key):
    lines = UNIT.read_text(encoding="utf-8").splitlines()
    return [line.partition("=")[2].split() for line in lines if line.startswith(f"{key}=")]


def _calls(name):
    """The system calls of a group such as @system-service, or of a plain name."""
    if not name.startswith("@"):
        return {name}
    told = subprocess.run(
        ["systemd-analyze", "syscall-filter", name], capture_output=True, text=True, check=True
    )
    entries = (line.strip() for line in told.stdout.splitlines()[1:])
    return set().union(*(_calls(entry) for entry in entries if entry and not entry.startswith("#")))


def allowed_calls():
    allowed = _calls("@default")
    for names in _values("SystemCallFilter"):
        calls = set().union(*(_calls(name.removeprefix("~")) for name in names))
        allowed = allowed - calls if names[0].startswith("~") else allowed | calls
    return allowed


def shut_in():
    """Put this process and its children behind the filter."""
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.seccomp_init(_REFUSE))
    for name in sorted(allowed_calls() - {"socket"}):
        number = library.seccomp_syscall_resolve_name(name.encode())
        if number >= 0 and library.seccomp_rule_add(context, _ALLOW, number, 0) != 0:
            raise OSError(f"no rule for {name}")
    socket = library.seccomp_syscall_resolve_name(b"socket")
    for family in _values("RestrictAddressFamilies")[0]:
        only = _Comparison(0, _EQUAL, _FAMILIES[family], 0)
        if library.seccomp_rule_add_array(context, _ALLOW, socket, 1, ctypes.byref(only)) != 0:
            raise OSError(f"no rule for {family}")
    if _values("MemoryDenyWriteExecute") == [["yes"]]:
        ctypes.CDLL(None).prctl(_PR_SET_MDWE, 1, 0, 0, 0)
    if library.seccomp_load(context) != 0:
        raise OSError("the filter cannot be loaded")


if __name__ == "__main__":
    shut_in()
    os.execvp(sys.argv[1], sys.argv[1:])
