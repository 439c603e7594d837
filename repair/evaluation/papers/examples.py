"""What the papers' models learn from: train links of collection folders, never the test links."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from repair import simulate, words
from repair.collection import Collection
from repair.learn.examples import Examples, Flags
from repair.papers import formula, singles, termclassifier
from repair.papers.postings import WEIGHTINGS, Numbers, Postings, best
from repair.papers.proximity import Rows
from repair.papers.singles import Reader, page_terms, scored, url_terms
from repair.scores import DIRICHLET
from repair.simulate import Case, Plan, Variant
from repair.view import View

LINKS = 150
"""Links of each folder; the paper has 50 in all."""
_EACH = 20  # pages of each single run among which a formula has to find the answer


def plans(folders: Sequence[Path], limit: int = LINKS) -> list[Plan]:
    """What is learnt from: train links of each folder, really moved where it has such, else as if all had moved."""
    found = []
    for folder in folders:
        real = any((folder / f"really_moved_train.jsonl{end}").exists() for end in ("", ".gz"))
        variant = Variant.REALLY_MOVED if real else Variant.MOVED
        found.append(Plan(folder=folder, variant=variant, split="train", limit=limit))
    return found


@contextmanager
def _opened(plan: Plan, cache: Path) -> Iterator[tuple[Collection, Postings, View]]:
    with simulate.collection(plan, cache) as collection:
        yield collection, Postings(collection), View(collection)


def term_examples(plan: Plan, cache: Path) -> tuple[Rows, list[bool]]:
    """Terms of source pages that move the answer up or down when they are added to the URL's terms."""
    rows, good = [np.zeros((0, len(termclassifier.FEATURES)))], list[bool]()
    with _opened(plan, cache) as (collection, postings, view):
        for case in simulate.cases(plan):
            truth = collection.page_number(case.truth)
            if truth is None:
                continue
            view.show(case)
            place = int(np.searchsorted(postings.numbers, truth))
            found = termclassifier.examples(
                page_terms(view, case.link),
                words.terms(case.link.anchor),
                url_terms(case.link),
                Ranks(postings, place),
            )
            rows.append(found[0])
            good += found[1]
    return np.concatenate(rows), good


class Ranks:
    """At which rank LM2000 finds one page; quick for queries that add a term to one that was asked before."""

    def __init__(self, postings: Postings, place: int) -> None:
        self._postings = postings
        self._place = place
        self._unmatched = np.log(DIRICHLET / (DIRICHLET + postings.lengths))
        self._known: dict[tuple[str, ...], tuple[formula.Matrix, Flags]] = {
            (): (np.zeros(postings.size), np.zeros(postings.size, bool))
        }

    def __call__(self, terms: Sequence[str]) -> float:
        """The rank, from 1; infinite when the page has none of the terms."""
        values, matched = self._scored(tuple(dict.fromkeys(terms)))
        if not matched[self._place]:
            return np.inf
        return 1.0 + float((values[matched] > values[self._place]).sum())

    def _scored(self, terms: tuple[str, ...]) -> tuple[formula.Matrix, Flags]:
        if terms in self._known:
            return self._known[terms]
        values, matched = self._remembered(terms[:-1])
        last = self._postings.matched(terms[-1:])
        added = self._unmatched.copy()
        added[last.places] = WEIGHTINGS["lm"](last)
        either = matched.copy()
        either[last.places] = True
        return values + added, either

    def _remembered(self, terms: tuple[str, ...]) -> tuple[formula.Matrix, Flags]:
        self._known[terms] = self._scored(terms)
        return self._known[terms]


def source_examples(plan: Plan, cache: Path) -> Examples:
    """The pages that the single sources rank best, with their normalised scores."""
    found = []
    with _opened(plan, cache) as (collection, postings, view):
        reader = Reader(view, postings)
        for number, case in enumerate(simulate.cases(plan)):
            view.show(case)
            rows, places = _table(reader, postings, case)
            pages = postings.numbers[places]
            shown = ~np.isin(pages, [collection.page_number(url) or -1 for url in case.hidden])
            answer = pages[shown] == (collection.page_number(case.truth) or -1)
            found.append((rows[shown], answer, np.full(len(answer), number)))
    return _joined(plan, found)


def _table(reader: Reader, postings: Postings, case: Case) -> tuple[formula.Matrix, Numbers]:
    table = np.zeros((postings.size, len(singles.FEATURES)), np.float32)
    listed = []
    for source in singles.SOURCES:
        for run, places, values in scored(postings, f"{source}/", partial(reader.terms, case.link, source)):
            table[places, singles.FEATURES.index(run.name)] = singles.normalised(values)
            listed.append(best(places, values, _EACH))
    chosen = np.unique(np.concatenate(listed))
    return table[chosen], chosen


def _joined(plan: Plan, found: Sequence[tuple[formula.Matrix, Flags, Numbers]]) -> Examples:
    rows, answers, links = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Examples(
        name=f"{plan.folder.name} {plan.variant}",
        rows=rows,
        answer=answers,
        similarity=np.zeros(len(rows), np.float32),
        link=links,
    )


def together(sets: Sequence[Examples]) -> Examples:
    """Examples of several collections as one, links numbered on."""
    starts = np.cumsum([0, *(examples.links for examples in sets)])
    return replace(
        sets[0],
        name=", ".join(examples.name for examples in sets),
        rows=np.concatenate([examples.rows for examples in sets]),
        answer=np.concatenate([examples.answer for examples in sets]),
        similarity=np.concatenate([examples.similarity for examples in sets]),
        link=np.concatenate([examples.link + start for examples, start in zip(sets, starts, strict=False)]),
    )
