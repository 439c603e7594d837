from datetime import UTC, datetime, timedelta

from proxy.monitoring.problemgroups import group_problems
from proxy.monitoring.recentproblems import LoggedProblem

NOON = datetime(2026, 5, 3, 12, tzinfo=UTC)


def a_problem(text, *, minute=0, level="warning", source="proxy.fetching"):
    return LoggedProblem(at=NOON + timedelta(minutes=minute), level=level, source=source, text=text)


def test_problems_that_differ_in_address_and_number_are_one_with_a_count():
    groups = group_problems(
        [
            a_problem(
                "no answer from https://b.test/x after 12.5 s", minute=9, source="worker 2: proxy.fetching"
            ),
            a_problem("disk is full", minute=5, level="error"),
            a_problem(
                "no answer from https://a.test/ after 3 s", minute=2, source="worker 1: proxy.fetching"
            ),
        ]
    )
    assert [(group.latest.text, group.times) for group in groups] == [
        ("no answer from https://b.test/x after 12.5 s", 2),
        ("disk is full", 1),
    ]
    assert groups[0].first_at == NOON + timedelta(minutes=2)


def test_problems_of_other_words_source_or_level_stay_apart():
    same = a_problem("lookup of a.test failed")
    others = (
        a_problem("lookup of a.test refused"),
        a_problem("lookup of a.test failed", level="error"),
        a_problem("lookup of a.test failed", source="proxy.archives"),
    )
    assert len(group_problems([same, *others])) == 4
