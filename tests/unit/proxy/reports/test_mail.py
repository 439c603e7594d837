"""A report by mail, with a mail server on loopback."""

import socketserver
import threading

import pytest

from proxy.errors import LinkmendError
from proxy.reports.mail import message_of, send
from proxy.settings import MailSettings
from tests.unit.proxy.reports.test_render import a_report


class _Session(socketserver.StreamRequestHandler):
    """As much of SMTP as a mail needs."""

    def handle(self):
        self._say(220)
        while line := self.rfile.readline():
            word = line.split()[0].upper()
            if word == b"DATA":
                self._say(354)
                while (line := self.rfile.readline()) != b".\r\n":
                    self.server.mail += line
            elif word == b"RCPT":
                self.server.recipients.append(line.decode())
            if word == b"QUIT":
                self._say(221)
                return
            self._say(self.server.codes.get(word.decode(), 250))

    def _say(self, code):
        self.wfile.write(b"%d words\r\n" % code)


@pytest.fixture
def server():
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Session) as running:
        running.mail, running.recipients, running.codes = b"", [], {}
        running.daemon_threads = True
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def settings_of(server, **known):
    address = f"127.0.0.1:{server.server_address[1]}"
    return MailSettings(**{"server": address, "security": "none", "sender": "proxy@school.test", **known})


def a_mail(language="en"):
    recipients = ("head@school.test", "it@school.test")
    return message_of(a_report(), sender="proxy@school.test", to=recipients, language=language)


def test_the_mail_has_words_a_page_and_a_table():
    mail = a_mail()
    assert (mail["Subject"], mail["To"]) == ("linkmend report 2026-W19", "head@school.test, it@school.test")
    kinds = [part.get_content_type() for part in mail.walk() if not part.is_multipart()]
    assert kinds == ["text/plain", "text/html", "text/csv"]
    assert mail.get_body(("plain",)).get_content().startswith("Missed pages: 1200\n")


def test_the_mail_is_in_the_language_of_the_school():
    mail = a_mail("fr")
    assert mail["Subject"] == "Rapport de linkmend 2026-W19"
    assert mail.get_body(("plain",)).get_content().startswith("Pages introuvables: 1200\n")
    assert '<html lang="fr"' in mail.get_body(("html",)).get_content()


def test_all_recipients_get_it(server):
    send(a_mail(), settings_of(server))
    assert len(server.recipients) == 2
    assert b"Subject: linkmend report 2026-W19" in server.mail


def test_a_server_that_refuses_is_quoted(server):
    server.codes["MAIL"] = 550
    with pytest.raises(LinkmendError, match="mail.server 127.0.0.1:[0-9]+: 550 words"):
        send(a_mail(), settings_of(server))


def test_without_encryption_nothing_is_sent_that_should_be_encrypted(server):
    with pytest.raises(LinkmendError, match="STARTTLS"):
        send(a_mail(), settings_of(server, security="starttls"))
    assert server.mail == b""


def test_a_missing_password_file_is_named(server):
    with pytest.raises(LinkmendError, match=r"mail.password_file: /nowhere"):
        send(a_mail(), settings_of(server, user="proxy", password_file="/nowhere"))


def test_nobody_at_the_server_is_an_error(server):
    nobody = settings_of(server)
    server.shutdown()
    server.server_close()
    with pytest.raises(LinkmendError, match="refused"):
        send(a_mail(), nobody)
