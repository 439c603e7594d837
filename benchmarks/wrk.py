"""Runs the same load with `wrk`, a load generator in C that takes a fraction of the processor time.

It requests pages over plain http and checks only that their status is 200: the content must be checked separately.
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


def can_run(load: Load) -> bool:
    """Whether `wrk` is installed and can run this load."""
    plain = not load.https and not load.renewed and not load.every_s and load.requests is None
    return plain and load.status == 200 and "{n}" not in load.paths[0] and shutil.which("wrk") is not None


def measure_by_wrk(load: Load) -> Measured:
    """Measure for whole seconds, at least one; without warm-up and latencies."""
    with tempfile.TemporaryDirectory(prefix="linkmend-wrk-") as folder:
        script = Path(folder, "ask.lua")
        script.write_text(
            _SCRIPT % json.dumps(head_of(load)), encoding="ascii"
        )  # Lua string literals look the same
        command = [
            "wrk", "-t1", f"-c{load.connections}", f"-d{max(1, round(load.seconds))}s", "-s", str(script),
            f"http://127.0.0.1:{load.port}/",
        ]  # fmt: skip
        ended = subprocess.run(
            command, stdout=subprocess.PIPE, timeout=load.seconds + 60, check=True, preexec_fn=first_in_line
        )
    result = json.loads(ended.stdout.splitlines()[-1])
    errors = {reason: count for reason, count in result["errors"].items() if count}
    return Measured(asked=result["asked"], in_time=result["asked"], seconds=result["us"] / 1e6, errors=errors)
