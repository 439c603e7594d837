"""Only the proxy itself may say for whom it asks."""

from proxy.desk.door import Door


def test_the_proxy_is_known_by_its_secret():
    door = Door()
    passed = door.passed(door.headers_for("10.0.0.5", secure=True))
    assert (passed.client, passed.secure, passed.origin) == ("10.0.0.5", True, "https://linkmend.internal")


def test_the_same_headers_with_another_secret_say_nothing():
    assert Door().passed(Door().headers_for("127.0.0.1", secure=True)) is None


def test_without_a_secret_nobody_is_the_proxy():
    assert Door().passed({}) is None
    assert Door().passed({"Linkmend-Door": ""}) is None


def test_each_start_has_its_own_secret():
    assert Door().secret != Door().secret
