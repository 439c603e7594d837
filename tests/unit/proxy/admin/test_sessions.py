"""Login sessions and how long they last."""

from proxy.admin.sessions import AdminSession, Sessions


def a_session(**known):
    return AdminSession(
        **{"ends_at": 100.0, "generation": "g", "client": "10.0.0.5", "secure": False, **known}
    )


def found(sessions, token, **known):
    return sessions.find(token, **{"generation_of": lambda name: "g", "secure": False, "now": 50.0, **known})


def test_a_session_is_found_by_its_token_alone():
    sessions = Sessions()
    session = a_session()
    token = sessions.begin(session)
    assert found(sessions, token) is session
    assert found(sessions, token + "x") is None
    assert found(sessions, "") is None


def test_session_expires():
    sessions = Sessions()
    token = sessions.begin(a_session(ends_at=100.0))
    assert found(sessions, token, now=99.0)
    assert found(sessions, token, now=100.0) is None


def test_password_change_ends_the_session():
    sessions = Sessions()
    token = sessions.begin(a_session())
    assert found(sessions, token, generation_of=lambda name: "another") is None
    assert found(sessions, token) is None


def test_https_session_is_invalid_on_plain_http():
    sessions = Sessions()
    token = sessions.begin(a_session(secure=True))
    assert found(sessions, token, secure=False) is None
    assert found(sessions, token, secure=True)


def test_logout_ends_the_session():
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


def test_notice_is_shown_once():
    session = a_session()
    session.leave_notice("done")
    assert session.take_notice() == "done"
    assert session.take_notice() == ""
