import random
import string

import pytest

from repair.secrets.randomness import most_random, random_run


@pytest.mark.parametrize(
    "piece",
    [
        "Photosynthesis",
        "how-to-learn-latin-in-30-days",
        "XMLHttpRequestEventTarget",
        "20240512",
        "Fremdsprachenunterricht",
        "WebGL2RenderingContext",
        "%d1%80",
        "",
    ],
)
def test_written_text_scores_low(piece):
    assert most_random(piece).bits < 15


@pytest.mark.parametrize("alphabet", [string.ascii_letters + string.digits, "0123456789abcdef"])
def test_random_text_scores_high(alphabet):
    generator = random.Random(5)
    drawn = ["".join(generator.choices(alphabet, k=24)) for _ in range(100)]
    assert sum(most_random(piece).bits > 15 for piece in drawn) >= 98


def test_words_before_it_do_not_hide_a_token():
    run = most_random("summer-holiday-photos-x7Kq9vR2mB4tLz8W")
    assert run.bits > 15
    assert run.start >= len("summer-holiday-photos")


def test_random_run_scores_short_codes_too():
    assert random_run("xqzk").bits > random_run("read").bits
