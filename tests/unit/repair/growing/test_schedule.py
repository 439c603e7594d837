from repair.growing.schedule import next_try_s

DAY_S = 86_400


def test_each_pause_is_twice_as_long_up_to_two_months():
    days = [round(next_try_s(tries) / DAY_S + 0.1) for tries in range(1, 10)]
    assert days == [1, 2, 4, 8, 16, 32, 64, 64, 64]


def test_first_pause_ends_before_the_next_night_begins():
    assert next_try_s(1) < DAY_S
