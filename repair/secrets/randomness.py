"""How random a piece of text looks, in bits, by its letter pairs.

Each character has two costs: by a model of what people write in URLs (words of many languages, CamelCase, numbers),
and by the alphabet that tokens are drawn from. The score is the largest surplus of any run of characters: words
before a token do not hide it, and a token need not end where we split. Sixteen random letters and digits score some
30, eight hexadecimal digits 14, hardly any written piece more than 15.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_VALUES = "0123456789abcdefghijklmnopqrstuvwxyz"
# In half bits: the cost of a letter at the start (first row) and after each of a to z; counted over the words
# of pages in fourteen languages and the addresses of benchmarks/secretaddresses.py.
_PAIRS = (
    "797899aa9eda8ba8f879bbbfhg",
    "ha88feafahd696eai686bcffbg",
    "6cee6fdg6ch6eg6fk79c7ghicj",
    "6jbg6hk68k99hj5hj8c79klkdj",
    "6ddb3eef5gjbee6fj99d9efkdj",
    "9d87bccgcih896ebe568ebeaeh",
    "7gfg57ij5jj8hg5hj7ba8iiick",
    "7eef4eb87kg9d99dk69c8ihkdi",
    "4fff4hih6khcdc6fi9b8aiflai",
    "9c799bajikf9947bga77galfmc",
    "5fed4efe9fefee5ced9f5eefef",
    "6ddd3dcc6hfaca9dgc7aageice",
    "6edb4efg5mf7eh7ejha99eim8l",
    "59fg4fij6ljcaf77lhagaijkcm",
    "7g877c6f8hdefb9ejf75bdhkeh",
    "cca9ecbhcid884b9l5898baffh",
    "6hfd5hh98lh7gh69l5a89jijfk",
    "dfffefffcffcffeefdee1feeee",
    "5dbb4ecg6lcdab7dja88bdglbj",
    "9f8g5eh96ldccf88ff748eelck",
    "6fcf4fi95mjcdf7em79aaifjah",
    "9aab8cbi9hf786e9k667ifkghg",
    "5igi2iai4kkhgi8gkdfgfjikgk",
    "5ddc5ff95ifbe87di99cfgfgeh",
    "8d8d7cgc6ggdbfa5f9b4defdcg",
    "8a9b7bce8hf88796ha69cedhfe",
    "4fde3ffc6ggedd8feedc9fdfcb",
)
_COST = {
    before + letter: _VALUES.index(value) / 2
    for before, row in zip(" " + _LETTERS, _PAIRS, strict=True)
    for letter, value in zip(_LETTERS, row, strict=True)
}
# The cost of changing from one kind of character to another: lower case, upper case, digit, sign.
_STEP = {
    before + after: cost
    for before, row in (
        ("l", (0.35, 4.5, 4.0, 3.4)),
        ("u", (0.5, 2.0, 4.5, 4.0)),
        ("d", (3.0, 5.0, 0.6, 3.0)),
        ("s", (0.6, 2.5, 2.6, 6.0)),
    )
    for after, cost in zip("luds", row, strict=True)
}
_MOST_FOR_A_CAPITAL = 6.5
"""Abbreviations have no vowels: XMLHTTP is not random."""
_DIGIT, _SIGN = 3.32, 2.0
_MAX_LENGTH = 400
_DIGITS = frozenset("0123456789")
# Words, abbreviations and numbers with signs between them: most pieces match, which settles them at once.
_WRITTEN = re.compile(r"(?:(?:[A-Za-z][a-z]{0,13}|[A-Z]{2,6}|[0-9]+)(?:[^A-Za-z0-9]+|\Z))*+")
_ALPHABETS: tuple[tuple[frozenset[str], float], ...] = (
    (frozenset(_LETTERS + _LETTERS.upper() + "0123456789-_"), 6.0),
    (frozenset(_LETTERS + "0123456789"), 5.17),
    (frozenset(_LETTERS.upper() + "0123456789"), 5.17),
    (frozenset("0123456789abcdef"), 4.0),
    (frozenset("0123456789ABCDEF"), 4.0),
    (frozenset(_LETTERS), 4.7),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomRun:
    """The run of characters that looks most random: its score in bits, its position and its length."""

    bits: float = 0.0
    start: int = 0
    end: int = 0


@lru_cache(maxsize=8192)
def most_random(text: str) -> RandomRun:
    """The most random run in a piece of a URL; digits alone are a number, and no run."""
    text = text[:_MAX_LENGTH]
    return RandomRun() if _WRITTEN.fullmatch(text) else random_run(text)


def random_run(text: str) -> RandomRun:
    """As `most_random`, but also for short codes that look like words to it (`abc-defg-hij`)."""
    costs = _written_costs(text)
    best = RandomRun()
    for alphabet, price in _ALPHABETS:
        run, start, is_number = 0.0, 0, True
        for place, letter in enumerate(text):
            if letter not in alphabet:
                run, start, is_number = 0.0, place + 1, True
                continue
            run += costs[place] - price
            is_number = is_number and letter in _DIGITS
            if run <= 0:
                run, start, is_number = 0.0, place + 1, True
            elif run > best.bits and not is_number:
                best = RandomRun(bits=run, start=start, end=place + 1)
    return best


def _written_costs(text: str) -> list[float]:
    """The cost of each character in bits, if a person wrote it."""
    costs: list[float] = []
    kind_before, letter_before = "s", " "
    for letter in text:
        kind = _kind(letter)
        cost = _STEP[kind_before + kind]
        if kind in "lu":
            small = letter.lower()
            is_inside = kind_before in "lu" and not (kind_before == "l" and kind == "u")
            pair = _COST[(letter_before if is_inside else " ") + small]
            cost += min(pair, _MOST_FOR_A_CAPITAL) if kind == "u" else pair
            letter_before = small
        else:
            cost += _DIGIT if kind == "d" else _SIGN
            letter_before = " "
        costs.append(cost)
        kind_before = kind
    return costs


def _kind(letter: str) -> str:
    if "a" <= letter <= "z":
        return "l"
    if "A" <= letter <= "Z":
        return "u"
    return "d" if letter in _DIGITS else "s"
