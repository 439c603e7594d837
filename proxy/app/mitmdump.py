"""linkmend inside a stock mitmproxy: `mitmdump -s proxy/app/mitmdump.py`.

`linkmend serve` is twice as fast, since it leaves out what a proxy does not need; this is for those who want
mitmproxy's own interfaces or further addons beside it. Everything is in mitmdump's process. The settings file and the
data folder are named with `--set linkmend_config=FILE` and `--set linkmend_data=DIR`.
"""

import sys
from pathlib import Path
from typing import Any

from mitmproxy import addonmanager, ctx, exceptions

# mitmproxy puts a script's own folder first on the path: there our packages are not.
_ROOT = Path(__file__).resolve().parents[2]
sys.path[:] = [str(_ROOT), *(entry for entry in sys.path if Path(entry).resolve() != Path(__file__).parent)]

from addons.mitm.master import mitmproxy_options  # noqa: E402
from proxy import settings as tree  # noqa: E402 - a `load` at this level would be taken for mitmproxy's hook
from proxy.app.worker import WorkerContainer  # noqa: E402
from proxy.errors import LinkmendError  # noqa: E402
from repair.errors import RepairError  # noqa: E402


class Linkmend:
    """Holds the real addons as its children, opened once mitmproxy's options are known."""

    def __init__(self) -> None:
        self.addons: list[Any] = []
        self._worker: WorkerContainer | None = None

    def load(self, loader: addonmanager.Loader) -> None:
        loader.add_option("linkmend_config", str, "", "linkmend's settings file.")
        loader.add_option("linkmend_data", str, "", "Where linkmend keeps pages, cache and logs.")

    async def running(self) -> None:
        config, data = ctx.options.linkmend_config, ctx.options.linkmend_data
        try:
            settings = tree.load(Path(config) if config else tree.default_path())
            self._worker = WorkerContainer(
                settings,
                Path(data) if data else tree.default_data(),
                authority=Path(ctx.options.confdir),
            )
        except (LinkmendError, RepairError) as error:
            raise exceptions.OptionsError(f"linkmend: {error}") from error
        await self._worker.start()
        ctx.options.update(**mitmproxy_options(settings.proxy, ctx.options.confdir))
        if self._worker.admin is not None:
            self._worker.admin.unready = lambda: ""
        self.addons = self._worker.addons()

    async def done(self) -> None:
        if self._worker is not None:
            await self._worker.close()


addons = [Linkmend()]
