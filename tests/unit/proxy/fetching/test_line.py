from proxy.fetching.line import Line


def test_the_line_is_up_until_somebody_is_not_heard():
    line = Line()
    assert line.is_up()
    assert line.silent(100.0)
    assert not line.is_up()
    assert not line.may_try(101.0)
    assert line.may_try(115.0)


def test_a_silent_site_proves_nothing_while_others_answer():
    line = Line()
    line.heard(100.0)
    assert not line.silent(130.0)
    assert line.is_up()
    assert line.silent(200.0)


def test_a_line_that_stays_down_is_tried_less_and_less_often_up_to_five_minutes():
    line, now, waits = Line(), 0.0, []
    for _ in range(8):
        line.silent(now)
        waits.append(line.try_at - now)
        now = line.try_at
    assert waits == [15.0, 30.0, 60.0, 120.0, 240.0, 300.0, 300.0, 300.0]


def test_those_who_tried_together_count_once():
    line = Line()
    line.silent(0.0)
    line.silent(0.1)
    assert line.try_at == 15.0


def test_an_answer_ends_it():
    line = Line()
    line.silent(0.0)
    line.heard(5.0)
    assert line.is_up()
    line.silent(100.0)
    assert line.try_at == 115.0
