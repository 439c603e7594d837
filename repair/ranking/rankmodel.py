"""The learned ranking as a file: plain JSON with a version and the names of its features, read without scikit-learn.

Two forests use the features of each candidate. `identity` ranks candidates for being the lost page itself; `likeness`
predicts how similar a candidate's content is. Two small forests use signals of the whole ranking (`SIGNALS`): `right`
tells how likely the first is the lost page, which orders the candidates by the one or by the other and gives the
confidence; `repairable` tells whether any candidate is worth offering. More agreement of a page with what is known
never lowers either.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from repair.errors import ModelMismatch
from repair.ranking.features import FEATURES
from repair.ranking.trees import Forest, Numbers, forest

FORMAT = "linkmend-ranking"
VERSION = 3
LEAN = -1.0
"""Log-odds of a right first page below which similarity counts more than identity.

Low: a user who gets a similar page although the lost one is there loses more than one who gets a less similar page
where it is not.
"""
FLATTER = 2.0
"""How far the shares of candidates are evened out for the order: behind the first, likeness counts more."""
PLAIN = [
    FEATURES.index(name)
    for name in (
        *("anchor.title", "slug.title", "inlinks.title", "anchor.anchors", "slug.url", "address.tail"),
        *("address.slug", "anchor.body", "slug.body", "inlinks.body", "around.body", "move.confidence"),
        *("anchor.called", "slug.called", "tail=title", "anchor=title", "copy.title", "copy.body"),
        *("company.best", "company.backlinks"),
    )
]
"""Features whose sum separates hopeless candidates from the others."""
_MAX_EVALUATED = 100
_LONE_MARGIN = 2.0  # the margin of a candidate without rivals
_NAMED = (
    *("anchor=title", "slug=title", "tail=title", "names=title", "copy=title"),
    *("anchor~title", "slug~title", "tail~title", "names~title", "anchor.title_dice"),
)
_SIGNS = (
    *_NAMED,
    *("slug.title_dice", "inlinks.title_dice", "anchor.title_all", "slug.title_all", "inlinks.title_all"),
    *("anchor.called", "slug.called", "tail.called", "address.same_slug", "address.slug", "address.path"),
    *(
        "address.same_directory",
        "address.same_name",
        "address.slug_within",
        "address.tail",
        "address.parts_kept",
    ),
    *("move.confidence", "anchor.body_all", "slug.body_all", "inlinks.body_all"),
    *("copy.body_all", "company.best", "company.backlinks", "found.ways", "links_near"),
    *("anchor.title_part", "slug.title_part", "anchor.numbers", "slug.numbers"),
    *("language.source", "language.expected", "language.links", "language.all"),
)
_KNOWN = tuple(name for name in FEATURES if name.startswith("known."))
_RANKING = ("margin", "share", "spread", "agreement", "leads", "address", "company")
SIGNALS: tuple[str, ...] = (
    *_RANKING,
    *(f"first.{name}" for name in _SIGNS),
    *(f"any.{name}" for name in _NAMED),
    *_KNOWN,
)
"""The first seven tell how far the first candidate is ahead, by its score and in each kind of evidence.

Scores themselves are none of them: how high they are differs from site to site.
"""
RISING: tuple[bool, ...] = tuple(name not in _KNOWN for name in SIGNALS)
"""Whether more of a signal may only raise the odds; how much is known at all may count either way."""
_SIGNS_AT, _NAMED_AT, _KNOWN_AT = (
    [FEATURES.index(name) for name in names] for names in (_SIGNS, _NAMED, _KNOWN)
)
_WORDS, _PLACES = (
    ("anchor", "slug", "inlinks", "around", "context", "dirs", "copy", "source"),
    ("address", "company"),
)
_KINDS_AT = [
    [at for at, name in enumerate(FEATURES) if name.startswith(f"{kind}.") and name.endswith("/best")]
    for kind in (*_WORDS, *_PLACES)
]
_LEADS_AT = [at for columns in _KINDS_AT for at in columns]
_LEAD_STARTS = np.cumsum([0, *(len(columns) for columns in _KINDS_AT[:-1])])
_MAX_MARGIN = 6.0
_AHEAD = 0.95
_MAX_BYTES = 64 * 1024**2

Matrix = npt.NDArray[np.floating[Any]]


class SavedForest(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Trees as `repair.ranking.trees` reads them."""

    base: float
    trees: list[dict[str, list[float]]]


class SavedModel(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The file. `offer_at` is the least probability to offer a list at; `about` is for people."""

    format: str
    version: int
    features: list[str]
    signals: list[str]
    identity: SavedForest
    likeness: SavedForest
    right: SavedForest
    repairable: SavedForest
    temperature: float
    offer_at: float
    about: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankJudgement:
    """The model's output: sort values, the probability that each candidate is the page, expected similarities.

    Similarities are 0 to 1; `repairable` is the probability that any candidate is worth offering.
    """

    values: Matrix
    confidences: Matrix
    likeness: Matrix
    repairable: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RankModel:
    """A model ready for use."""

    identity: Forest
    likeness: Forest
    right: Forest
    repairable: Forest
    temperature: float
    offer_at: float
    about: dict[str, Any]

    def judge(self, rows: Matrix) -> RankJudgement:
        """Judge the candidates of one broken link, a row of FEATURES each."""
        values, confidences, likeness = (np.zeros(len(rows)) for _ in range(3))
        if not len(rows):
            return RankJudgement(values=values, confidences=confidences, likeness=likeness, repairable=0.0)
        positions = most_promising(rows)
        evaluated = rows[positions]
        scores, alike = self.identity.scores(evaluated), self.likeness.scores(evaluated)
        signals = ranking_signals(evaluated, scores)[None, :]
        right = float(self.right.scores(signals)[0])
        values[positions] = sort_values(scores, alike, right)
        confidences[positions] = spread_confidence(scores, self.temperature, probability(right))
        likeness[positions] = alike
        repairable = probability(float(self.repairable.scores(signals)[0]))
        return RankJudgement(values=values, confidences=confidences, likeness=likeness, repairable=repairable)


def most_promising(rows: Matrix) -> npt.NDArray[np.int64]:
    """The rows worth evaluating: those with the most evidence of the plainest kind, all when there are few."""
    if len(rows) <= _MAX_EVALUATED:
        return np.arange(len(rows))
    return np.argpartition(-rows[:, PLAIN].sum(axis=1), _MAX_EVALUATED)[:_MAX_EVALUATED]


def sort_values(scores: Matrix, alike: Matrix, right: float) -> Matrix:
    """Values to sort candidates by: identity, as far as the first may be right (log-odds), else similarity."""
    lean = probability(right - LEAN)
    even = shares(scores, FLATTER)
    values: Matrix = lean * even / even.max() + (1 - lean) * alike
    return values


def shares(scores: Matrix, temperature: float) -> Matrix:
    """The probability of each candidate, given that one of them is the lost page."""
    raised = np.exp((scores - scores.max()) / temperature)
    found: Matrix = raised / raised.sum()
    return found


def spread_confidence(scores: Matrix, temperature: float, right: float) -> Matrix:
    """The probability of each candidate, given that of the first; the others share what is left, none above it."""
    share = shares(scores, temperature)
    first = int(scores.argmax())
    found: Matrix = np.minimum(right, (1 - right) * share / max(1e-9, 1 - share[first]))
    found[first] = right
    return found


def ranking_signals(rows: Matrix, scores: Matrix) -> Matrix:
    """SIGNALS of a ranking: how far the first is ahead of the others, and in what it agrees with what is known."""
    first = int(scores.argmax())
    others = np.delete(scores, first)
    leads = _leads(rows, first)
    words, (address, company) = leads[: len(_WORDS)], leads[len(_WORDS) :]
    known = words[~np.isnan(words)]
    of_ranking = (
        min(_MAX_MARGIN, scores[first] - others.max()) if len(others) else _LONE_MARGIN,
        shares(scores, 1.0)[first],
        (scores[first] - scores.mean()) / (scores.std() + 0.3),
        known.mean() if len(known) else 0.0,
        (known > _AHEAD).mean() if len(known) else 0.0,
        np.nan_to_num(address),
        np.nan_to_num(company),
    )
    found: Matrix = np.concatenate(
        (of_ranking, rows[first, _SIGNS_AT], rows[:, _NAMED_AT].max(axis=0), rows[first, _KNOWN_AT])
    )
    return found


def _leads(rows: Matrix, first: int) -> Matrix:
    """How near the first candidate is to the best in each kind of evidence, 0 to 1; NaN where nothing is known."""
    values = rows[:, _LEADS_AT]
    telling = values.max(axis=0) > 0
    counts = np.add.reduceat(telling, _LEAD_STARTS, dtype=np.float64)
    near = np.add.reduceat(np.where(telling, values[first], 0.0), _LEAD_STARTS)
    return np.where(counts > 0, near / np.maximum(counts, 1), np.nan)


def probability(log_odds: float) -> float:
    """The same as a probability."""
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, log_odds))))


def loads(data: bytes, where: str) -> RankModel:
    """Parse a model file's bytes; raises ModelMismatch when it is not one for our features."""
    if len(data) > _MAX_BYTES:
        raise ModelMismatch(f"{where}: {len(data)} bytes, not a linkmend model")
    try:
        saved = msgspec.json.decode(data, type=SavedModel)
    except msgspec.DecodeError as error:
        raise ModelMismatch(f"{where}: not a ranking model: {error}") from error
    if (saved.format, saved.version) != (FORMAT, VERSION):
        raise ModelMismatch(f"{where}: expected {FORMAT} {VERSION}, found {saved.format} {saved.version}")
    columns = _columns(saved.features, where)
    if tuple(saved.signals) != SIGNALS:
        raise ModelMismatch(f"{where}: trained with other signals")
    if not (math.isfinite(saved.temperature) and saved.temperature > 0):
        raise ModelMismatch(f"{where}: temperature: {saved.temperature}")
    return RankModel(
        identity=forest(saved.identity.trees, saved.identity.base, len(columns)).of_columns(columns),
        likeness=forest(saved.likeness.trees, saved.likeness.base, len(columns)).of_columns(columns),
        right=forest(saved.right.trees, saved.right.base, len(SIGNALS)),
        repairable=forest(saved.repairable.trees, saved.repairable.base, len(SIGNALS)),
        temperature=saved.temperature,
        offer_at=saved.offer_at,
        about=saved.about,
    )


def _columns(names: Sequence[str], where: str) -> Numbers:
    """Where our rows have the features of a model; those that are newer than the model are not used by it."""
    places = {name: at for at, name in enumerate(FEATURES)}
    unknown = [name for name in names if name not in places]
    if unknown or len(set(names)) != len(names):
        raise ModelMismatch(
            f"{where}: trained with other features: {', '.join(unknown[:3]) or 'some of them twice'}"
        )
    return np.array([places[name] for name in names], np.intp)


def load(path: Path) -> RankModel:
    """Load a model from a file; raises ModelMismatch."""
    try:
        return loads(path.read_bytes(), str(path))
    except OSError as error:
        raise ModelMismatch(f"{path}: {error.strerror}") from error


@lru_cache(maxsize=1)
def default() -> RankModel:
    """The default model, trained on the development collections."""
    found = resources.files("repair.ranking") / "models" / "default.json"
    try:
        return loads(found.read_bytes(), "the default model")
    except OSError as error:
        raise ModelMismatch(f"the default model: {error.strerror}") from error
