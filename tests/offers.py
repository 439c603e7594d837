"""Something to offer: alternatives of a made-up school library, so that tests of pages have pages to show."""

from datetime import UTC, datetime

from proxy.pages.repairpage import RepairPageContext
from repair.model import Alternative, RankedAlternatives, Span
from tests.make import a_broken_link

SAVED_AT = datetime(2026, 5, 3, 9, 30, tzinfo=UTC)
MISS_ID = "q3Yd0r0c2ZkXo2l8mB1tPw"

LIBRARY = (
    ("plants/photosynthesis.html", "How plants make food from light", ("anchor", "title")),
    ("plants/leaves.html", "Leaves: the kitchens of a plant", ("text", "same_site")),
    ("science/carbon-cycle.html", "The carbon cycle, step by step", ("text",)),
    ("science/light.html", "What is light?", ("links",)),
    ("garden/compost.html", "A compost heap for our school garden", ("url",)),
    ("plants/seeds.html", "From seed to seedling", ("context",)),
    ("science/oxygen.html", "Oxygen: the air we need", ("text",)),
    ("plants/", "All pages about plants", ("same_site",)),
)


def an_alternative(url="http://library.school.test/plants/leaves.html", title="Leaves", **known):
    return Alternative(url=url, title=title, **known)


def a_snippet():
    return (
        Span(text="Green "),
        Span(text="plants", marked=True),
        Span(text=" take in water and carbon dioxide and use the "),
        Span(text="light", marked=True),
        Span(text=" of the sun to make sugar. Oxygen is left over, and we breathe it."),
    )


def the_library(count=8):
    return tuple(
        an_alternative(
            url=f"http://library.school.test/{path}",
            title=title,
            snippet=a_snippet(),
            score=9.0 - place,
            confidence=0.9 - place / 10,
            reasons=reasons,
        )
        for place, (path, title, reasons) in enumerate(LIBRARY[:count])
    )


def found(alternatives=None, url="http://www.school.test/biology/photosynthesis.html", **known):
    """What the repair of a lost page about photosynthesis found; `kind` and such go to the broken link."""
    link = {key: known.pop(key) for key in ("kind", "source_url", "anchor") if key in known}
    return RankedAlternatives(
        link=a_broken_link(url=url, **link),
        alternatives=the_library() if alternatives is None else tuple(alternatives),
        query=known.pop("query", "photosynthesis plants light"),
        **known,
    )


def a_context(language="en", status=404, miss_id=MISS_ID, **known):
    return RepairPageContext(language=language, status=status, miss_id=miss_id, **known)
