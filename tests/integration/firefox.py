"""Debian's Firefox behind the proxy under test, driven by WebDriver BiDi, which it speaks without a driver.

A profile of its own has the proxy, the certificate, the language and the colour scheme.
"""

import asyncio
import base64
import contextlib
import json
import os
import re
import select
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp

_START_S = 180.0
_COMMAND_S = 180.0
_WAIT_S = 180.0
_SCHEMES = {"dark": 0, "light": 1}
_PREFERENCES = {
    "network.proxy.type": 1,
    "network.proxy.allow_hijacking_localhost": True,
    "network.proxy.no_proxies_on": "",
    # Each of these would ask the internet about itself, or for https where the test has http.
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "network.trr.mode": 5,
    "app.update.auto": False,
    "app.normandy.enabled": False,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "datareporting.healthreport.uploadEnabled": False,
    "browser.newtabpage.enabled": False,
    "browser.startup.homepage": "about:blank",
    "dom.security.https_first": False,
    "security.warn_submit_secure_to_insecure": False,  # a page of 127.0.0.1 counts as secure, and the warning waits
    "dom.security.https_first_schemeless": False,
    "extensions.systemAddon.update.enabled": False,
    "services.settings.server": "data:,#no",
    "media.gmp-manager.url": "data:,#no",
}


class Firefox:
    """One window of a running Firefox."""

    def __init__(self, address: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._numbers = 0
        self._http, self._socket = self._loop.run_until_complete(self._connect(f"{address}/session"))
        self.send(
            "session.new", capabilities={"alwaysMatch": {"unhandledPromptBehavior": {"default": "accept"}}}
        )
        self._window = self.send("browsingContext.getTree")["contexts"][0]["context"]
        self._size = (0, 0)

    @staticmethod
    async def _connect(address: str) -> tuple[aiohttp.ClientSession, aiohttp.ClientWebSocketResponse]:
        http = aiohttp.ClientSession()
        return http, await http.ws_connect(address, max_msg_size=64 * 1024 * 1024)

    def send(self, method: str, **parameters: object) -> dict:
        """The result of a BiDi command; AssertionError for an error."""
        return self._loop.run_until_complete(asyncio.wait_for(self._send(method, parameters), _COMMAND_S))

    async def _send(self, method: str, parameters: dict) -> dict:
        self._numbers += 1
        await self._socket.send_json({"id": self._numbers, "method": method, "params": parameters})
        while True:
            told = json.loads((await self._socket.receive()).data)
            if told.get("id") == self._numbers:
                assert told["type"] == "success", (method, told)
                return told["result"]

    def focus(self) -> None:
        """Go on in a new window, which has the keyboard: the first one never has, and Tab leads out of every page."""
        old, self._window = self._window, self.send("browsingContext.create", type="window")["context"]
        self.resize(*self._size)
        self.send("browsingContext.close", context=old)

    def resize(self, width: int, height: int) -> None:
        self._size = (width, height)
        self.send(
            "browsingContext.setViewport",
            context=self._window,
            viewport={"width": width, "height": height},
        )

    def open(self, url: str) -> None:
        """Open an address, and return when its page is complete."""
        self.send("browsingContext.navigate", context=self._window, url=url, wait="complete")

    def evaluate(self, script: str) -> object:
        """The value of an expression in the page; promises are awaited."""
        result = self.send(
            "script.evaluate",
            expression=f"(async () => JSON.stringify(await ({script}) ?? null))()",
            target={"context": self._window},
            awaitPromise=True,
            userActivation=True,
        )
        assert result["type"] == "success", result
        return json.loads(result["result"]["value"])

    def wait_for(self, condition: str, *, within_s: float = _WAIT_S) -> None:
        """Until an expression is true, also across pages."""
        ends = time.monotonic() + within_s
        while time.monotonic() < ends:
            # A page that is being left has no answer.
            with contextlib.suppress(AssertionError):
                if self.evaluate(condition):
                    return
            time.sleep(0.2)
        raise AssertionError(f"not in time: {condition}\n{self.evaluate('document.body.innerText')}")

    def fill(self, selector: str, text: str) -> None:
        self.evaluate(f"document.querySelector({json.dumps(selector)}).value = {json.dumps(text)}")

    def click(self, selector: str) -> None:
        """Click the first element of a selector, in a moment: the page may be gone before it has answered."""
        element = f"document.querySelector({json.dumps(selector)})"
        self.evaluate(f"(window.leaving = true, setTimeout(() => {element}.click(), 50), 0)")

    def click_through(self, selector: str, then: str) -> None:
        """Click, and wait until an expression is true on the next page."""
        self.click(selector)
        self.wait_for(f"!window.leaving && document.readyState == 'complete' && ({then})")

    def choose_file(self, selector: str, path: Path) -> None:
        found = self.send(
            "browsingContext.locateNodes",
            context=self._window,
            locator={"type": "css", "value": selector},
        )["nodes"][0]
        self.send(
            "input.setFiles",
            context=self._window,
            element={"sharedId": found["sharedId"]},
            files=[str(path)],
        )

    def press(self, *keys: str) -> None:
        """Press keys one after the other; names are those of WebDriver, such as "\\ue004" for Tab."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.send(
            "input.performActions",
            context=self._window,
            actions=[{"type": "key", "id": "keys", "actions": actions}],
        )

    def screenshot(self, path: Path) -> None:
        """The whole page as a PNG."""
        told = self.send("browsingContext.captureScreenshot", context=self._window, origin="document")
        path.write_bytes(base64.b64decode(told["data"]))

    def close(self) -> None:
        with contextlib.suppress(AssertionError, TimeoutError, TypeError):
            self.send("browser.close")
        self._loop.run_until_complete(self._http.close())
        self._loop.close()


@contextlib.contextmanager
def firefox(
    path: str,
    home: Path,
    *,
    proxy: str,
    certutil: str,
    ca: Path,
    locale: str = "en",
    color_scheme: str = "light",
    width: int = 1200,
    height: int = 900,
) -> Iterator[Firefox]:
    """A fresh Firefox without a screen."""
    profile = home / "profile"
    profile.mkdir(parents=True)
    _trust(certutil, profile, ca)
    port = urlsplit(proxy).port
    chosen = {
        **_PREFERENCES,
        **{f"network.proxy.{kind}": "127.0.0.1" for kind in ("http", "ssl")},
        **{f"network.proxy.{kind}_port": port for kind in ("http", "ssl")},
        "intl.accept_languages": locale,
        "layout.css.prefers-color-scheme.content-override": _SCHEMES[color_scheme],
    }
    lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in chosen.items())
    (profile / "user.js").write_text("\n".join(lines))
    command = [path, "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port=0"]
    process = subprocess.Popen(
        [*command, "about:blank"],
        env={**os.environ, "HOME": str(home), "MOZ_HEADLESS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        browser = Firefox(_address(process))
        try:
            browser.resize(width, height)
            yield browser
        finally:
            browser.close()
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _address(process: subprocess.Popen) -> str:
    """Where it listens, as it says when it has started."""
    said, ends = b"", time.monotonic() + _START_S
    os.set_blocking(process.stderr.fileno(), False)
    while time.monotonic() < ends and process.poll() is None:
        select.select([process.stderr], [], [], 0.5)
        said += process.stderr.read() or b""
        if found := re.search(rb"WebDriver BiDi listening on (ws://\S+)", said):
            return found[1].decode()
    raise AssertionError(f"Firefox did not start: {said.decode(errors='replace')[-2000:]}")


def _trust(certutil: str, profile: Path, ca: Path) -> None:
    subprocess.run([certutil, "-N", "-d", f"sql:{profile}", "--empty-password"], check=True)
    subprocess.run(
        [certutil, "-A", "-d", f"sql:{profile}", "-n", "linkmend", "-t", "C,,", "-i", str(ca)], check=True
    )
