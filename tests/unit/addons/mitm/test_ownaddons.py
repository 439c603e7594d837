import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize(
    "then",
    [
        "from mitmproxy.addons import block; assert block.Block",
        "import mitmproxy.addons.block as block; assert block.Block",
        "import mitmproxy.addons; assert mitmproxy.addons.default_addons()",
        "from mitmproxy.addons import default_addons; assert default_addons()",
        "from mitmproxy.tools.dump import DumpMaster",
    ],
)
def test_mitmproxys_other_addons_can_still_be_imported(then):
    code = f"import sys, addons.mitm.ownaddons; assert 'flask' not in sys.modules; {then}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
