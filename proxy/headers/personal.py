"""Which request fields identify a user, judged by their names: the response to them may be for one user only.

Cookie and Authorization are the known ones. Scripts send others (X-Auth-Token, X-CSRFToken, apikey, X-Session-Id),
and no list of them is complete. So every name that looks like a key or a session counts as personal.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from proxy.messages import Headers

_LIKE_A_KEY = re.compile(
    r"(?:token|key|secret|signature)$|auth|session|csrf|xsrf|jwt|cookie|credential|password"
)


_LONGEST_NAME = 100


def is_personal(name: str) -> bool:
    """Whether a (lower-case) request field identifies the user; an overlong name counts as one."""
    return len(name) > _LONGEST_NAME or _is_like_a_key(name)


@lru_cache(maxsize=2048)  # browsers send the same twenty names with every request
def _is_like_a_key(name: str) -> bool:
    return _LIKE_A_KEY.search(name) is not None


def any_personal(names: Iterable[str]) -> bool:
    """Whether one of the (lower-case) names is personal."""
    return any(map(is_personal, names))


def personal_fields(headers: Headers) -> frozenset[str]:
    """The lower-case names of the personal fields of a request."""
    return frozenset(filter(is_personal, (name.lower() for name, _ in headers)))
