"""Small texts about farms, and about other things, for the tests of the crawler."""

import random

_FARM = "soil crop seed harvest plough field manure maize bean cattle rain farmer weed root grain"
_OTHER = "violin opera king castle rocket planet engine theatre novel poem sword crown ballet orbit film"
FARM, OTHER = _FARM.split(), _OTHER.split()


def a_text(about, number, words=60):
    """A text about one subject, with words that many texts have."""
    chance = random.Random(f"{about[0]}{number}")
    common = ["people", "time", "place", "great", "often", f"name{number}"]
    return " ".join(chance.choice(about if chance.random() < 0.6 else common) for _ in range(words))


def farm_texts(count, start=0):
    return [a_text(FARM, number).split() for number in range(start, start + count)]


def other_texts(count, start=0):
    return [a_text(OTHER, number).split() for number in range(start, start + count)]
