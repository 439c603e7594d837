"""All checks together."""

import json

from typer.testing import CliRunner

from proxy.doctor import examine as examining
from proxy.doctor.model import FindingLevel
from proxy.main import app
from proxy.settings import MetricsSettings, ProxySettings, Settings


async def test_a_check_that_fails_itself_is_a_failure(tmp_path, monkeypatch):
    async def check_moon(installation):
        raise PermissionError("no view")

    monkeypatch.setattr(examining, "CHECKS", (check_moon,))
    (finding,) = await examining.examine(Settings(metrics=MetricsSettings(enabled=False)), tmp_path)
    assert (finding.check, finding.level) == ("moon", FindingLevel.FAIL)
    assert "no view" in finding.found


async def test_nobody_at_the_port_for_monitoring_means_not_running():
    settings = Settings(proxy=ProxySettings(), metrics=MetricsSettings(listen="127.0.0.1:1"))
    assert not await examining.is_running(settings)


def test_a_settings_file_with_an_error_is_the_first_finding(tmp_path):
    config = tmp_path / "linkmend.toml"
    config.write_text("[proxy]\nlisten_at = 1\n")
    done = CliRunner().invoke(app, ["doctor", "--config", str(config), "--data", str(tmp_path), "--json"])
    assert done.exit_code == 1
    told = json.loads(done.stdout)
    assert (told["check"], told["level"]) == ("settings", "fail")
    assert "listen_at" in told["found"]
