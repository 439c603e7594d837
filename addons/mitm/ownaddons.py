"""mitmproxy's own addons, as far as linkmend uses them: the one place that imports them.

`mitmproxy.addons` imports all of mitmproxy's addons when any one is imported: a web server (Flask), LDAP, clipboard.
That took 10 MB and a sixth of the start. So here the package stands in `sys.modules` without having run, imports the
modules that are asked for, and runs only when someone wants what it defines itself (`default_addons`).
"""

import importlib.util
import sys
from types import ModuleType
from typing import Any

_PACKAGE = "mitmproxy.addons"


def _import_on_demand() -> None:
    """Put the package where imports look for it, unless it has been imported, as in mitmdump."""
    spec = importlib.util.find_spec(_PACKAGE)
    if _PACKAGE in sys.modules or spec is None or spec.loader is None:
        return
    package, loader = importlib.util.module_from_spec(spec), spec.loader

    def find(name: str) -> Any:
        if not name.startswith("_") and importlib.util.find_spec(f"{_PACKAGE}.{name}") is not None:
            return importlib.import_module(f"{_PACKAGE}.{name}")
        del package.__dict__["__getattr__"]
        loader.exec_module(package)
        return getattr(package, name)

    package.__dict__["__getattr__"] = find
    sys.modules[_PACKAGE] = package
    _set_attribute_of_parent(package)


def _set_attribute_of_parent(package: ModuleType) -> None:
    parent, _, name = _PACKAGE.rpartition(".")
    setattr(sys.modules[parent], name, package)


_import_on_demand()

from mitmproxy.addons import clientplayback, core, next_layer, proxyserver, tlsconfig  # noqa: E402

__all__ = ["clientplayback", "core", "next_layer", "proxyserver", "tlsconfig"]
