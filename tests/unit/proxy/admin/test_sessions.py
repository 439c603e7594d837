"""Who is logged in, for how long."""

from proxy.desk.sessions import Session, Sessions


def a_session(**known):
    return Session(**{"ends_at": 100.0, "generation": "g", "client": "10.0.0.5", "secure": False, **known})


def found(sessions, token, **known):
    return sessions.find(token, **{"generation": "g", "secure": False, "now": 50.0, **known})


def test_a_session_is_found_by_its_token_alone():
    sessions = Sessions()
    session = a_session()
    token = sessions.begin(session)
    assert found(sessions, token) is session
    assert found(sessions, token + "x") is None
    assert found(sessions, "") is None


def test_a_session_ends_in_time():
    sessions = Sessions()
    token = sessions.begin(a_session(ends_at=100.0))
    assert found(sessions, token, now=99.0)
    assert found(sessions, token, now=100.0) is None


def test_a_session_ends_with_the_password_it_came_with():
    sessions = Sessions()
    token = sessions.begin(a_session())
    assert found(sessions, token, generation="another") is None
    assert found(sessions, token) is None


def test_a_session_of_https_is_worth_nothing_in_the_clear():
    sessions = Sessions()
    token = sessions.begin(a_session(secure=True))
    assert found(sessions, token, secure=False) is None
    assert found(sessions, token, secure=True)


def test_who_logs_out_is_out():
    sessions = Sessions()
    token = sessions.begin(a_session())
    sessions.end(token)
    assert found(sessions, token) is None


def test_sessions_are_bounded_and_the_oldest_goes():
    sessions = Sessions()
    first = sessions.begin(a_session())
    for _ in range(200):
        last = sessions.begin(a_session())
    assert found(sessions, first) is None
    assert found(sessions, last)


def test_a_notice_is_said_once():
    session = a_session()
    session.leave_notice("done")
    assert session.take_notice() == "done"
    assert session.take_notice() == ""
