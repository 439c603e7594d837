"""Reports of trials."""

from collections import Counter

from tests.chaos.report import Report, Trial, table


def a_report(seed=1, **known):
    known = {"asked": Counter(page=3), "answers": Counter({"right": 2, "cut off": 1}), **known}
    return Report(trial=Trial(seed=seed, seconds=60), lasted_s=60, **known)


def test_a_report_tells_the_seed_the_faults_by_kind_and_that_nothing_broke():
    told = str(a_report(seed=42, trouble=Counter({"kill worker": 2})))
    assert "seed 42" in told
    assert "kill worker 2" in told
    assert "no invariant broken" in told


def test_a_broken_invariant_is_told_with_how_to_try_again():
    told = str(a_report(seed=42, complaints=["a torn body"]))
    assert "BROKEN a torn body" in told
    assert "--seed 42 --minutes 1" in told


def test_while_it_goes_on_a_line_tells_where_it_stands():
    assert "1.0 min: 3 asked (right 2, cut off 1)" in a_report().line()


def test_a_table_has_a_row_for_each_trial_and_a_sum():
    rows = table([a_report(1), a_report(2, complaints=["a hang"], trouble=Counter(reload=1))]).splitlines()
    assert [row.split(" | ")[0] for row in rows[2:5]] == ["| 1", "| 2", "| all"]
    assert [row.split(" | ")[-1] for row in rows[2:5]] == ["0 |", "1 |", "1 |"]
    assert rows[-1] == "Faults by kind: reload 1."
