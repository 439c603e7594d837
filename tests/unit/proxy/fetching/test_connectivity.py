from proxy.fetching.connectivity import Connectivity


def test_connectivity_is_up_until_a_site_does_not_answer():
    line = Connectivity()
    assert line.is_up()
    assert line.note_silence(100.0)
    assert not line.is_up()
    assert not line.may_try(101.0)
    assert line.may_try(115.0)


def test_a_silent_site_proves_nothing_while_others_answer():
    line = Connectivity()
    line.note_answer(100.0)
    assert not line.note_silence(130.0)
    assert line.is_up()
    assert line.note_silence(200.0)


def test_tests_of_connectivity_back_off_to_five_minutes():
    line, now, waits = Connectivity(), 0.0, []
    for _ in range(8):
        line.note_silence(now)
        waits.append(line.try_at - now)
        now = line.try_at
    assert waits == [15.0, 30.0, 60.0, 120.0, 240.0, 300.0, 300.0, 300.0]


def test_simultaneous_tests_count_once():
    line = Connectivity()
    line.note_silence(0.0)
    line.note_silence(0.1)
    assert line.try_at == 15.0


def test_answer_restores_connectivity():
    line = Connectivity()
    line.note_silence(0.0)
    line.note_answer(5.0)
    assert line.is_up()
    line.note_silence(100.0)
    assert line.try_at == 115.0
