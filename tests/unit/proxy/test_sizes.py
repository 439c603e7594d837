import pytest

from proxy.sizes import size


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1_000, "1.0 KB"),
        (9_960, "10 KB"),
        (999_600, "1.0 MB"),
        (20 * 1024**2, "21 MB"),
        (10**18, "1000000 TB"),
    ],
)
def test_sizes_are_shown_in_the_unit_that_fits(count, shown):
    assert size(count) == shown
