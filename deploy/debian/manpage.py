"""Prints linkmend(1) from the table of commands: `manpage.py VERSION`."""

import sys

from proxy.cli.commands import COMMANDS

_HEAD = r""".TH LINKMEND 1 "" "linkmend {version}" "User commands"
.SH NAME
linkmend \- caching proxy that mends dead links
.SH SYNOPSIS
.B linkmend
.I COMMAND
.RI [ OPTION ]...
.SH DESCRIPTION
A caching proxy for schools. It answers a dead link with a saved copy, archived versions, or the saved pages that come
closest to what was meant.
.PP
Settings are in
.IR /etc/linkmend/linkmend.toml ,
data in
.IR /var/lib/linkmend .
Run commands as the user linkmend, and give them the data folder with
.BR \-\-data .
.B linkmend
.I COMMAND
.B \-\-help
explains the options of a command.
.SH COMMANDS
"""
_FOOT = r""".SH EXIT STATUS
0 when done, 1 when it failed (one line on standard error says why), 2 for a wrong option.
.SH SEE ALSO
/usr/share/doc/linkmend/admins.md
"""


def escaped(text: str) -> str:
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text


sys.stdout.write(_HEAD.format(version=sys.argv[1]))
for name, (_, line) in COMMANDS.items():
    sys.stdout.write(f".TP\n.B {escaped(name)}\n{escaped(line)}\n")
sys.stdout.write(_FOOT)
