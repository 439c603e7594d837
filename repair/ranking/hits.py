"""Hubs and authorities among the candidates of one query (Kleinberg's HITS, as Westerveld 2001 tried it).

A page that good hubs link to is an authority, a page that links to good authorities is a hub. Only links among the
candidates count, so this is computed for every query; a few hundred pages take well under a millisecond.
"""

import numpy as np
import numpy.typing as npt

Shares = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

_MAX_ROUNDS = 12  # the order is stable by then; the last digits are not worth the time
_TOLERANCE = 1e-6


def hits(sources: Numbers, targets: Numbers, size: int) -> tuple[Shares, Shares]:
    """Hub and authority scores of `size` candidates, scaled to a maximum of 1; 0 for pages without such links.

    Links are pairs of candidate positions, each once; a page's link to itself does not count.
    """
    apart = sources != targets
    source, target = sources[apart], targets[apart]
    hubs = np.ones(size)
    authorities = np.zeros(size)
    for _ in range(_MAX_ROUNDS):
        before = authorities
        authorities = _scale(np.bincount(target, hubs[source], size).astype(np.float64))
        hubs = _scale(np.bincount(source, authorities[target], size).astype(np.float64))
        if np.abs(authorities - before).max(initial=0.0) < _TOLERANCE:
            break
    return hubs, authorities


def _scale(values: Shares) -> Shares:
    top = values.max(initial=0.0)
    return values / top if top > 0 else values
