"""`linkmend pac` uses the public address of the proxy."""

from typer.testing import CliRunner

from proxy.main import app


def test_pac_file_uses_the_public_address(tmp_path):
    config = tmp_path / "linkmend.toml"
    config.write_text("[proxy]\npublic = 'proxy.school.test:3128'\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["pac", "--config", str(config)])
    assert '"PROXY proxy.school.test:3128"' in done.stdout
