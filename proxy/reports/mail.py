"""Sends a report by the school's mail server (SMTP)."""

import html
import smtplib
import ssl
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from pathlib import Path

from proxy.errors import LinkmendError
from proxy.pages.desktexts import desk_language, shown, speaking, tr
from proxy.pages.language import ENGLISH
from proxy.reports.figures import SchoolReport
from proxy.reports.render import as_csv, as_html
from proxy.settings import MailSettings, split_address

_TIMEOUT_S = 60.0


def message_of(
    report: SchoolReport, *, sender: str, to: tuple[str, ...], language: str = ENGLISH
) -> EmailMessage:
    """The mail: a few words, the report as a page, and the table for spreadsheets (always in English) as a file."""
    mail = EmailMessage()
    with speaking(desk_language(language)):
        mail["Subject"] = _words(tr("linkmend report {period}", period=report.period.name))
        said = (
            (tr("Missed pages"), report.missed.times),
            (tr("Repaired"), report.missed.opened),
            (tr("Nothing to offer"), report.missed.nothing),
        )
        words = "".join(f"{_words(what)}: {count}\n" for what, count in said)
    mail["From"], mail["To"] = sender, ", ".join(to)
    mail["Date"], mail["Message-ID"] = formatdate(localtime=True), make_msgid(domain="linkmend.internal")
    mail.set_content(words)
    mail.add_alternative(as_html(report, language), subtype="html")
    mail.add_attachment(as_csv(report), subtype="csv", filename=f"linkmend-{report.period.name}.csv")
    return mail


def _words(text: str) -> str:
    """A text as the language of the mail has it, without HTML."""
    return html.unescape(str(shown(text)))


def send(mail: EmailMessage, settings: MailSettings, *, trusted: ssl.SSLContext | None = None) -> None:
    """Hand a mail to the server. Raises LinkmendError with the reason when it is not taken."""
    try:
        with _connect(settings, trusted or ssl.create_default_context()) as server:
            if settings.user:
                server.login(settings.user, _password(settings.password_file))
            refused = server.send_message(mail)
    except (smtplib.SMTPException, OSError) as error:
        raise LinkmendError(f"mail.server {settings.server}: {_reason(error)}") from error
    if refused:
        raise LinkmendError(f"mail.server {settings.server}: refused {', '.join(sorted(refused))}")


def _connect(settings: MailSettings, trusted: ssl.SSLContext) -> smtplib.SMTP:
    host, port = split_address(settings.server, key="mail.server")
    if settings.security == "tls":
        return smtplib.SMTP_SSL(host, port, timeout=_TIMEOUT_S, context=trusted)
    server = smtplib.SMTP(host, port, timeout=_TIMEOUT_S)
    if settings.security == "starttls":
        try:
            server.starttls(context=trusted)
        except BaseException:
            server.close()
            raise
    return server


def _password(file: str) -> str:
    """Raises LinkmendError."""
    try:
        return Path(file).read_text(encoding="utf-8").partition("\n")[0].rstrip("\r")
    except (OSError, UnicodeDecodeError) as error:
        raise LinkmendError(f"mail.password_file: {file}: {error}") from error


def _reason(error: Exception) -> str:
    if isinstance(error, smtplib.SMTPResponseException):
        words = error.smtp_error
        text = words.decode("utf-8", "replace") if isinstance(words, bytes) else str(words)
        return f"{error.smtp_code} {text}".replace("\n", " ")[:300]
    return (str(error) or type(error).__name__).partition("\n")[0][:300]
