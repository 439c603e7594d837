"""The admin API against its own OpenAPI document: schemathesis generates requests of all kinds from it.

linkmend runs offline meanwhile, so nothing is fetched and no archive is queried.
"""

import re
from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from proxy.admin.auth.passwords import Passwords
from tests.integration.processes import serving

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
checks = pytest.importorskip("schemathesis.specs.openapi.checks")

EXAMPLES = 12


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    """The schema of a running admin server, and a session that sends an API token."""
    data = tmp_path_factory.mktemp("api") / "data"
    token = Passwords(data / "desk.json").new_token("schemathesis")
    with serving(data, "--offline") as running:
        running.wait_for_line("linkmend metrics on ")
        at = re.search(r"linkmend desk on (http://\S+)", running.output)[1]
        headers = {"Authorization": f"Bearer {token}"}
        schema = schemathesis.openapi.from_url(f"{at}/admin/api/openapi.json", headers=headers)
        schema.config.update(headers=headers)
        yield schema
    assert "desk: internal error" not in running.output, running.output


def failures(operation, statuses):
    """The errors in the responses of one operation, over a few requests of each kind."""

    @seed(1)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def ask(case):
        # A schema cannot express what a web address or a rule is: such a request may be refused with a 400 or 422.
        answer = case.call_and_validate(timeout=20, excluded_checks=[checks.positive_data_acceptance])
        statuses[answer.status_code] += 1

    try:
        ask()
    except (AssertionError, BaseExceptionGroup) as failure:
        return f"{operation.label}: {failure}"
    return ""


def test_every_api_call_answers_as_the_openapi_document_says(api):
    operations = [found.ok() for found in api.get_all_operations()]
    assert {"GET /admin/api/live", "GET /admin/api/health"} <= {each.label for each in operations}
    statuses = Counter()
    found = [failure for operation in operations if (failure := failures(operation, statuses))]
    assert not found, "\n\n".join(found)
    assert statuses[401] == 0, "the token was not taken, so nothing was tried"
    assert statuses[200] > len(operations)
