"""Which request fields say who is asking, by their names: what is answered to them may be for one person only.

Cookie and Authorization are the known ones. Scripts send others of their own making (X-Auth-Token, X-CSRFToken,
apikey, X-Session-Id), which no list is complete of; so whatever is called like a key or a session is taken for one.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from proxy.cache.entry import Headers

_LIKE_A_KEY = re.compile(
    r"(?:token|key|secret|signature)$|auth|session|csrf|xsrf|jwt|cookie|credential|password"
)


_LONGEST_NAME = 100


def is_personal(name: str) -> bool:
    """Whether a (lower-case) request field says who is asking; a name that nobody would give a field may."""
    return len(name) > _LONGEST_NAME or _is_like_a_key(name)


@lru_cache(maxsize=2048)  # browsers send the same twenty names with every request
def _is_like_a_key(name: str) -> bool:
    return _LIKE_A_KEY.search(name) is not None


def any_personal(names: Iterable[str]) -> bool:
    """Whether one of the (lower-case) names does."""
    return any(map(is_personal, names))


def personal_fields(headers: Headers) -> frozenset[str]:
    """The lower-case names of those fields of a request that say who is asking."""
    return frozenset(filter(is_personal, (name.lower() for name, _ in headers)))
