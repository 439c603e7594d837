"""Training examples for the papers' models: train links of collection folders, never test links."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from repair.collection.collection import Collection
from repair.evaluation.papers import formula, singlesources, termclassifier
from repair.evaluation.papers.postings import WEIGHTINGS, Numbers, Postings, best
from repair.evaluation.papers.proximity import Rows
from repair.evaluation.papers.singlesources import SourceReader, page_terms, score_pages, url_terms
from repair.learning.examples import Examples, Flags
from repair.ranking.scoring import DIRICHLET
from repair.simulation import pseudobroken
from repair.simulation.pseudobroken import BreakagePlan, BrokenCase, Variant
from repair.simulation.view import EvaluationView
from repair.text import words

LINKS = 150
"""Links from each folder; the paper uses 50 in all."""
_EACH = 20  # pages of each single run among which a formula has to find the answer


def plans(folders: Sequence[Path], limit: int = LINKS) -> list[BreakagePlan]:
    """One plan for each folder: its really moved train links if it has any, else train links as if moved."""
    found = []
    for folder in folders:
        real = any((folder / f"really_moved_train.jsonl{end}").exists() for end in ("", ".gz"))
        variant = Variant.REALLY_MOVED if real else Variant.MOVED
        found.append(BreakagePlan(folder=folder, variant=variant, split="train", limit=limit))
    return found


@contextmanager
def _open_collection(
    plan: BreakagePlan, cache: Path
) -> Iterator[tuple[Collection, Postings, EvaluationView]]:
    with pseudobroken.collection(plan, cache) as collection:
        yield collection, Postings(collection), EvaluationView(collection)


def term_examples(plan: BreakagePlan, cache: Path) -> tuple[Rows, list[bool]]:
    """Terms of source pages that change the rank of the answer when added to the URL terms."""
    rows, good = [np.zeros((0, len(termclassifier.FEATURES)))], list[bool]()
    with _open_collection(plan, cache) as (collection, postings, view):
        for case in pseudobroken.cases(plan):
            truth = collection.page_number(case.truth)
            if truth is None:
                continue
            view.show(case)
            place = int(np.searchsorted(postings.numbers, truth))
            found = termclassifier.examples(
                page_terms(view, case.link),
                words.terms(case.link.anchor),
                url_terms(case.link),
                RankedExamples(postings, place),
            )
            rows.append(found[0])
            good += found[1]
    return np.concatenate(rows), good


class RankedExamples:
    """The rank of one page by LM2000; fast for queries that add one term to an earlier query."""

    def __init__(self, postings: Postings, place: int) -> None:
        self._postings = postings
        self._place = place
        self._unmatched = np.log(DIRICHLET / (DIRICHLET + postings.lengths))
        self._known: dict[tuple[str, ...], tuple[formula.Matrix, Flags]] = {
            (): (np.zeros(postings.size), np.zeros(postings.size, bool))
        }

    def __call__(self, terms: Sequence[str]) -> float:
        """The rank, from 1; infinite when the page has none of the terms."""
        values, matched = self._score(tuple(dict.fromkeys(terms)))
        if not matched[self._place]:
            return np.inf
        return 1.0 + float((values[matched] > values[self._place]).sum())

    def _score(self, terms: tuple[str, ...]) -> tuple[formula.Matrix, Flags]:
        if terms in self._known:
            return self._known[terms]
        values, matched = self._score_and_keep(terms[:-1])
        last = self._postings.match(terms[-1:])
        added = self._unmatched.copy()
        added[last.places] = WEIGHTINGS["lm"](last)
        either = matched.copy()
        either[last.places] = True
        return values + added, either

    def _score_and_keep(self, terms: tuple[str, ...]) -> tuple[formula.Matrix, Flags]:
        self._known[terms] = self._score(terms)
        return self._known[terms]


def source_examples(plan: BreakagePlan, cache: Path) -> Examples:
    """The best pages of the single sources, with their normalised scores."""
    found = []
    with _open_collection(plan, cache) as (collection, postings, view):
        reader = SourceReader(view, postings)
        for number, case in enumerate(pseudobroken.cases(plan)):
            view.show(case)
            rows, places = _table(reader, postings, case)
            pages = postings.numbers[places]
            shown = ~np.isin(pages, [collection.page_number(url) or -1 for url in case.hidden])
            answer = pages[shown] == (collection.page_number(case.truth) or -1)
            found.append((rows[shown], answer, np.full(len(answer), number)))
    return _join(plan, found)


def _table(reader: SourceReader, postings: Postings, case: BrokenCase) -> tuple[formula.Matrix, Numbers]:
    table = np.zeros((postings.size, len(singlesources.FEATURES)), np.float32)
    listed = []
    for source in singlesources.SOURCES:
        for run, places, values in score_pages(
            postings, f"{source}/", partial(reader.terms, case.link, source)
        ):
            table[places, singlesources.FEATURES.index(run.name)] = singlesources.normalise_scores(values)
            listed.append(best(places, values, _EACH))
    chosen = np.unique(np.concatenate(listed))
    return table[chosen], chosen


def _join(plan: BreakagePlan, found: Sequence[tuple[formula.Matrix, Flags, Numbers]]) -> Examples:
    rows, answers, links = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Examples(
        name=f"{plan.folder.name} {plan.variant}",
        rows=rows,
        answer=answers,
        similarity=np.zeros(len(rows), np.float32),
        link=links,
    )


def join_examples(sets: Sequence[Examples]) -> Examples:
    """Examples of several collections as one set; links are numbered consecutively."""
    starts = np.cumsum([0, *(examples.links for examples in sets)])
    return replace(
        sets[0],
        name=", ".join(examples.name for examples in sets),
        rows=np.concatenate([examples.rows for examples in sets]),
        answer=np.concatenate([examples.answer for examples in sets]),
        similarity=np.concatenate([examples.similarity for examples in sets]),
        link=np.concatenate([examples.link + start for examples, start in zip(sets, starts, strict=False)]),
    )
