"""The same load by `wrk`, a load generator in C that takes a fraction of the processor time.

It asks over plain http for pages whose status is 200, and looks at nothing but that: what the answers say has to be
checked besides.
"""

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from benchmarks.load import Load, Measured, head_of
from benchmarks.processes import first_in_line

_SCRIPT = """
local text = %s
request = function() return text end
done = function(summary, latency, requests)
  local e = summary.errors
  local counted = '{"no connection": %%d, "closed": %%d, "status": %%d, "late": %%d}'
  print(string.format('{"asked": %%d, "us": %%d, "errors": ' .. counted .. '}',
    summary.requests, summary.duration, e.connect, e.read + e.write, e.status, e.timeout))
end
"""


def can_carry_out(load: Load) -> bool:
    """Whether there is a `wrk`, and it can ask this."""
    plain = not load.https and not load.renewed and not load.every_s and load.requests is None
    return plain and load.status == 200 and "{n}" not in load.paths[0] and shutil.which("wrk") is not None


def measured_by_wrk(load: Load) -> Measured:
    """Whole seconds, at least one; without a warm-up and without latencies."""
    with tempfile.TemporaryDirectory(prefix="linkmend-wrk-") as folder:
        script = Path(folder, "ask.lua")
        script.write_text(
            _SCRIPT % json.dumps(head_of(load)), encoding="ascii"
        )  # Lua writes such text the same way
        command = [
            "wrk", "-t1", f"-c{load.connections}", f"-d{max(1, round(load.seconds))}s", "-s", str(script),
            f"http://127.0.0.1:{load.port}/",
        ]  # fmt: skip
        ended = subprocess.run(
            command, stdout=subprocess.PIPE, timeout=load.seconds + 60, check=True, preexec_fn=first_in_line
        )
    told = json.loads(ended.stdout.splitlines()[-1])
    errors = {reason: count for reason, count in told["errors"].items() if count}
    return Measured(asked=told["asked"], in_time=told["asked"], seconds=told["us"] / 1e6, errors=errors)
