import http_sf
import pytest

from proxy.cache.status import CacheStatus, write_cache_status


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (CacheStatus(ttl_s=376.9), "linkmend;hit;ttl=376"),
        (CacheStatus(ttl_s=-0.5), "linkmend;hit;ttl=-1"),
        (
            CacheStatus(forward="uri-miss", forward_status=200, stored=True),
            "linkmend;fwd=uri-miss;fwd-status=200;stored",
        ),
        (CacheStatus(forward="uri-miss", collapsed=True), "linkmend;fwd=uri-miss;collapsed"),
        (CacheStatus(forward="stale", detail="unreachable"), "linkmend;fwd=stale;detail=unreachable"),
    ],
)
def test_cache_status_says_what_the_cache_did(status, expected):
    written = write_cache_status(status)
    assert written == expected
    assert http_sf.parse(written.encode(), tltype="list")
