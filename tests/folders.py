"""Small collection folders for the tests of measuring and learning."""

import gzip
import json
import random
from itertools import product

HOST = "http://site.test"
_TOPICS = [
    "volcano lava ash crater eruption magma",
    "glacier ice snow crevasse moraine melt",
    "river bank water delta flood mouth",
    "desert sand dune oasis camel drought",
    "forest tree leaf canopy moss fern",
    "ocean wave tide salt whale coral",
    "planet orbit moon gravity comet star",
    "bridge arch span cable pillar road",
    "castle tower moat wall keep siege",
    "violin string bow melody orchestra tune",
    "wheat grain flour harvest field bread",
    "engine piston fuel valve steam gear",
]
_SYLLABLES = (
    ("bra", "klo", "mur", "pel", "tis", "von"),
    ("da", "fe", "go", "li"),
    ("k", "m", "n", "r", "x", "z"),
)
_MADE_UP = ["".join(syllables) for syllables in product(*_SYLLABLES)]


def url_of(number):
    return f"{HOST}/wiki/{_TOPICS[number].split()[0].title()}_guide.html"


def lines(folder, stem, records):
    with gzip.open(folder / f"{stem}.jsonl.gz", "wt") as file:
        for record in records:
            file.write(json.dumps(record) + "\n")


def a_link_record(source, target, anchor, **known):
    return {
        "source_url": source,
        "target_url": target,
        "anchor": anchor,
        "context_before": "please read about",
        "context_after": "for more",
        "nav": False,
        **known,
    }


def a_folder(folder):
    """Twelve pages, each linked from the three after it; the links from the page right after each are the test."""
    folder.mkdir(parents=True, exist_ok=True)
    count = len(_TOPICS)
    words = [topic.split() for topic in _TOPICS]
    lines(
        folder,
        "pages",
        [
            {"url": url_of(at), "title": f"{names[0].title()} guide", "text": f"{' '.join(names)}. " * 5}
            for at, names in enumerate(words)
        ],
    )
    links = [
        a_link_record(url_of((at + step) % count), url_of(at), f"{words[at][0]} {words[at][step]}")
        for at in range(count)
        for step in (1, 2, 3)
    ]
    lines(folder, "links", links)
    broken = [link for link in links if link["source_url"] == url_of((words_at(link, words) + 1) % count)]
    for stem, chosen in (("test", broken[:4]), ("train", broken[4:])):
        lines(folder, stem, [{"id": f"{stem}{at}", **link} for at, link in enumerate(chosen)])
    return folder


def words_at(link, words):
    return next(at for at in range(len(words)) if url_of(at) == link["target_url"])


def a_random_folder(folder, count, broken, *, ending=""):
    """Pages of random words, random links between them, and links to some of them, by lot, as train and as test.

    All texts end with `ending`: random words alone are taken for a different language on every page.
    """
    folder.mkdir(parents=True)
    lots = random.Random(7)
    titles = [" ".join(lots.sample(_MADE_UP, 3)) for _ in range(count)]
    urls = [f"{HOST}/part{at % 7}/{title.replace(' ', '_')}_{at}.html" for at, title in enumerate(titles)]
    texts = [" ".join(lots.choices(_MADE_UP, k=lots.randint(20, 60))) + ending for _ in urls]
    pages = zip(urls, titles, texts, strict=True)
    lines(folder, "pages", [{"url": url, "title": title, "text": text} for url, title, text in pages])
    links = [
        a_link_record(urls[source], urls[target], titles[target])
        for target in range(count)
        for source in lots.sample(range(count), lots.randint(2, 6))
        if source != target
    ]
    lines(folder, "links", links)
    answers = lots.sample(urls, broken)
    chosen = [next(link for link in links if link["target_url"] == url) for url in answers]
    for stem in ("test", "train"):
        lines(folder, stem, [{"id": f"{stem}{at}", **link} for at, link in enumerate(chosen)])
    return folder
