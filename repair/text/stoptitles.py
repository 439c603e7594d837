"""Stop titles: titles that say nothing of their page ("Home", "Untitled document", "Appendix A"), in many languages.

After Klein (dissertation, chapter VI and appendix A): a title is dismissed when it is one of the list, and also
when three quarters of its words, or of its letters, are made up of such titles. An admin may add to the list.
"""

from collections.abc import Iterable
from functools import lru_cache

from repair.text import words

STOP_SHARE = 0.75
"""The least share of stop titles for which a title is dismissed."""

# Defaults of page generators, names of parts that every site and every book has, and messages of servers; languages
# in the order of the repair page, then some others.
STOP_TITLES = """
400|401|403|404|500|502|503|
about|about us|abstract|access denied|account|acknowledgements|acknowledgments|appendix|archive|archives|article|
articles|athletics|bad request|bibliography|blog|chapter|coming soon|conclusion|contact|contact us|contents|
copyright|dashboard|default|default page|default plesk page|dissertation|document|document moved|error|errors|
error page|faq|favorites|file not found|footnotes|forbidden|forum|found|frame|frames|frameset|front page|
gallery|glossary|help|home|home page|homepage|imprint|index|index htm|index html|index of|index page|indexhtm|
indexhtml|info|information|intro|introduction|it works|just a moment|links|loading|loading please wait|log in|
login|main|main frame|main menu|main page|menu|moved|moved permanently|my page|navigation|new document|new page|
new page 1|news|no title|not found|notes|object moved|overview|page|page 1|page has moved|page moved|
page not found|page title|photos|please wait|preface|presentation|press|privacy policy|redirect|redirecting|
references|register|report|search|search results|service unavailable|sign in|site index|site map|sitemap|slide 1|
start|start page|summary|support|table of contents|temporarily unavailable|terms of use|test|test page|
the page cannot be displayed|the page cannot be found|thesis|this page has moved|
this site is under construction|this web site coming soon|title|toc|transferring|under construction|unknown|
untitled|untitled document|untitled page|web page|web page under construction|webpage unavailable|website|
website disabled|website errors|website not yet available|website template|welcome|welcome page|welcome to|
inicio|página de inicio|página principal|portada|índice|bienvenido|bienvenidos|bienvenida|sin título|
documento sin título|página nueva|página no encontrada|introducción|contacto|contenido|en construcción|
sobre nosotros|noticias|enlaces|resumen|apéndice|error 404|accueil|page d'accueil|bienvenue|sans titre|
document sans titre|nouvelle page|page introuvable|page non trouvée|sommaire|table des matières|en construction|
à propos|actualités|liens|résumé|annexe|plan du site|início|página inicial|bem vindo|bem vindos|sem título|
documento sem título|nova página|página não encontrada|introdução|contato|contacto|conteúdo|em construção|
sobre nós|notícias|ligações|resumo|apêndice|الرئيسية|الصفحة الرئيسية|مرحبا|أهلا وسهلا|بدون عنوان|مقدمة|
اتصل بنا|من نحن|الصفحة غير موجودة|قيد الإنشاء|الفهرس|أخبار|روابط|mwanzo|nyumbani|ukurasa wa kwanza|
ukurasa mkuu|karibu|bila kichwa|utangulizi|wasiliana nasi|kuhusu sisi|yaliyomo|habari|viungo|
ukurasa haukupatikana|मुख्य पृष्ठ|मुखपृष्ठ|होम|स्वागत|स्वागत है|शीर्षकहीन|परिचय|संपर्क|हमारे बारे में|विषय सूची|
समाचार|पृष्ठ नहीं मिला|startseite|willkommen|herzlich willkommen|unbenannt|unbenanntes dokument|
neue seite|neue seite 1|seite nicht gefunden|einleitung|einführung|inhalt|inhaltsverzeichnis|impressum|kontakt|
über uns|aktuelles|im aufbau|übersicht|zusammenfassung|anhang|pagina iniziale|pagina principale|benvenuti|
benvenuto|senza titolo|documento senza titolo|introduzione|contatti|indice|chi siamo|in costruzione|
startpagina|welkom|naamloos|naamloos document|inleiding|inhoud|главная|главная страница|добро пожаловать|
без названия|без имени|введение|содержание|контакты|о нас|страница не найдена|новости|ana sayfa|anasayfa|
hoş geldiniz|başlıksız|giriş|iletişim|hakkımızda|içindekiler|beranda|halaman utama|selamat datang|tanpa judul|
pendahuluan|daftar isi|strona główna|witamy|bez tytułu|wprowadzenie|spis treści|kontakt|o nas|ホーム|
トップページ|ようこそ|無題|無題ドキュメント|はじめに|目次|お問い合わせ|首页|主页|欢迎|欢迎光临|无标题|无标题文档|
简介|目录|联系我们|关于我们|首頁|主頁|歡迎|無標題|홈|홈페이지|환영합니다|제목 없음|소개|목차
"""
_MAX_TITLE = 300
_MAX_WORDS = 12  # of one stop title


def is_stop_title(title: str, extra: Iterable[str] = ()) -> bool:
    """Whether a title says nothing of its page; `extra` are further such titles, in any case and punctuation."""
    return stop_share(title, extra) >= STOP_SHARE


def stop_share(title: str, extra: Iterable[str] = ()) -> float:
    """The share of a title that consists of stop titles, by words or by letters, whichever is more.

    Numbers and single letters after a stop title belong to it ("Appendix A", "Page 3"). 1 for an empty title.
    """
    tokens = words.tokens(title[:_MAX_TITLE])
    stop = _stop_titles(tuple(extra))
    covered = _mark_covered(tokens, stop)
    for at in range(1, len(tokens)):
        covered[at] = covered[at] or (covered[at - 1] and _is_label(tokens[at]))
    letters = sum(map(len, tokens))
    if not letters:
        return 1.0
    by_letters = (
        sum(len(token) for token, is_covered in zip(tokens, covered, strict=True) if is_covered) / letters
    )
    return max(sum(covered) / len(tokens), by_letters)


def _mark_covered(tokens: list[str], stop: frozenset[tuple[str, ...]]) -> list[bool]:
    """For each token whether it is part of a stop title; the longest ones from the left."""
    covered = [False] * len(tokens)
    at = 0
    while at < len(tokens):
        lengths = range(min(_MAX_WORDS, len(tokens) - at), 0, -1)
        length = next((length for length in lengths if tuple(tokens[at : at + length]) in stop), 0)
        covered[at : at + length] = [True] * length
        at += max(1, length)
    return covered


def _is_label(token: str) -> bool:
    return token.isdigit() or (len(token) == 1 and token.isascii())


@lru_cache(maxsize=8)
def _stop_titles(extra: tuple[str, ...]) -> frozenset[tuple[str, ...]]:
    listed = (tuple(words.tokens(title)) for title in (*STOP_TITLES.split("|"), *extra))
    return frozenset(title for title in listed if title)
