"""Settings for kinds of machines."""

import pytest

from proxy.settings import Settings, load
from proxy.setup.profiles import PROFILES


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_has_settings_that_exist_and_differ_from_the_defaults(name):
    assert load(environment={}, overrides=PROFILES[name]) != Settings()
