"""Which collection folders there are, and from which repositories each is made.

`k8s` is the judge: it has no train links, so that no model can be trained on it by accident.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchmarks.collections.folder import FolderLimits
from benchmarks.collections.markup import Templates
from benchmarks.collections.sitepages import Site


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What a collection folder is made from."""

    sites: tuple[Site, ...]
    limits: FolderLimits = field(default_factory=FolderLimits)


_RUBY = Site(
    repository="ruby/www.ruby-lang.org",
    base="https://www.ruby-lang.org/",
    routes=(
        (r".*/404\.md", ""),
        (r"(?P<lang>[a-z]{2}(?:_[a-z]{2})?)/news/_posts/(\d+)-(\d+)-(\d+)-(.+)\.md", r"\1/news/\2/\3/\4/\5/"),
        (r"(?P<lang>[a-z]{2}(?:_[a-z]{2})?)/(?:(.+)/)?index\.(?:md|html)", r"\1/\2/"),
        (r"(?P<lang>[a-z]{2}(?:_[a-z]{2})?)/(?!examples/)(.+)\.md", r"\1/\2/"),
    ),
    templates=Templates.LIQUID,
    moved_since="2013-09-01",
)
_NODE = Site(
    repository="nodejs/nodejs.org",
    base="https://nodejs.org/",
    routes=(
        (r"apps/site/pages/(?P<lang>[a-z-]+)/(?:(.+)/)?index\.mdx?", r"\1/\2"),
        (r"apps/site/pages/(?P<lang>[a-z-]+)/(.+)\.mdx?", r"\1/\2"),
    ),
)
_RUST = Site(
    repository="rust-lang/blog.rust-lang.org",
    base="https://blog.rust-lang.org/",
    routes=((r"content/.+\.md", "{path}/"),),
)
_GODOT = Site(
    repository="godotengine/godot-website",
    base="https://godotengine.org/",
    routes=(
        (r"collections/_(article|showcase)/(.+)\.md", r"\1/\2/"),
        (r"pages/(?!404|home)(?:(.+)/)?index\.html", r"\1/"),
        (r"pages/(?!404|home|.*_includes)(.+)\.html", r"\1/"),
    ),
    templates=Templates.LIQUID,
)
_VUE_HOSTS = {
    "vuejs/docs": ("https://vuejs.org/", "en"),
    "vuejs-translations/docs-zh-cn": ("https://cn.vuejs.org/", "zh"),
    "vuejs-translations/docs-ja": ("https://ja.vuejs.org/", "ja"),
    "vuejs-translations/docs-fr": ("https://fr.vuejs.org/", "fr"),
    "vuejs-translations/docs-pt": ("https://pt.vuejs.org/", "pt"),
    "vuejs-translations/docs-uk": ("https://ua.vuejs.org/", "uk"),
    "vuejs-translations/docs-ko": ("https://ko.vuejs.org/", "ko"),
    "vuejs-translations/docs-ru": ("https://ru.vuejs.org/", "ru"),
    "vuejs-translations/docs-it": ("https://it.vuejs.org/", "it"),
}
_VUE = tuple(
    Site(
        repository=repository,
        base=base,
        language=language,
        routes=(
            (r"src/(?:tutorial|examples)/src/.*", ""),
            (r"src/(?:(.+)/)?index\.md", r"\1/"),
            (r"src/(.+)\.md", r"\1.html"),
        ),
    )
    for repository, (base, language) in _VUE_HOSTS.items()
)
# Without the references of the web API and of CSS, which are two thirds of it and alike throughout.
_MDN_PARTS = "glossary|learn|learn_web_development|games|webassembly|web/(?!api/|css/)"
_MDN = tuple(
    Site(
        repository="mdn/translated-content",
        base="https://developer.mozilla.org/",
        language=language,
        routes=(
            (rf"files/{language.lower()}/(?:{_MDN_PARTS}).*/index\.(?:md|html)", f"{language}/docs/{{slug}}"),
        ),
        templates=Templates.MDN,
        redirects=rf"files/{language.lower()}/_redirects\.txt",
        moved_since="2021-06-01",
    )
    for language in ("es", "fr", "ja", "ko", "pt-BR", "ru", "zh-CN", "zh-TW")
)
_KUBERNETES = Site(
    repository="kubernetes/website",
    base="https://kubernetes.io/",
    routes=(
        (r".*/(?:OWNERS|README|404)(?:\.md)?", ""),
        (r"content/en/blog/_posts/.+\.md", "blog/{date:%Y/%m/%d}/{slug}/"),
        (r"content/en/(?:(.+)/)?_?index\.(?:md|html)", r"\1/"),
        (r"content/en/(.+)\.(?:md|html)", r"\1/"),
        (r"content/(?P<lang>[a-z]{2}(?:-[a-z]{2})?)/blog/_posts/.+\.md", r"\1/blog/{date:%Y/%m/%d}/{slug}/"),
        (r"content/(?P<lang>[a-z]{2}(?:-[a-z]{2})?)/(?:(.+)/)?_?index\.(?:md|html)", r"\1/\2/"),
        (r"content/(?P<lang>[a-z]{2}(?:-[a-z]{2})?)/(.+)\.(?:md|html)", r"\1/\2/"),
    ),
    templates=Templates.HUGO,
)
_PHP = tuple(
    Site(
        repository=f"php/doc-{name}",
        base=f"https://www.php.net/manual/{place}/",
        language=place.partition("_")[0],
        routes=(),
        docbook=True,
    )
    # The four smaller translations: with the larger ones it is 72,000 pages.
    for name, place in (("de", "de"), ("it", "it"), ("tr", "tr"), ("zh", "zh"))
)
_HERE = r"usr/share/doc/"
_LANG = r"(?P<lang>[a-z]{2}(?:[-_][A-Z]{2})?)"
_DEBIAN = (
    (
        "installation-guide-amd64",
        "www.debian.org/releases/bookworm/amd64/",
        rf"{_HERE}[^/]+/{_LANG}/(.+)",
        r"\1/\2",
    ),
    ("harden-doc", "securing.debian.example/", rf"{_HERE}harden-doc/html/{_LANG}/(.+)", r"\1/\2"),
    (
        "gnucash-docs",
        "www.gnucash.org/docs/",
        rf"{_HERE}[^/]+/gnucash-(guide|help)-{_LANG}/(.+)",
        r"\2/\1/\3",
    ),
    ("tuxpaint-data", "tuxpaint.org/docs/", rf"{_HERE}[^/]+/{_LANG}(?:\.UTF-8)?/(.+)", r"\1/\2"),
    ("debian-history", "www.debian.org/doc/history/", rf"{_HERE}[^/]+/docs/(.+\.{_LANG}\.html)", r"\1"),
    ("debmake-doc", "www.debian.org/doc/debmake/", rf"{_HERE}[^/]+/html/(.+\.{_LANG}\.html)", r"\1"),
    *(
        (f"aptitude-doc-{each}", "aptitude.debian.example/", rf"{_HERE}aptitude/html/{_LANG}/(.+)", r"\1/\2")
        for each in ("cs", "en", "es", "fi", "fr", "it", "ja", "nl", "ru")
    ),
    *(
        (
            f"lilypond-doc-html{f'-{each}' if each else ''}",
            "lilypond.org/doc/",
            rf"{_HERE}lilypond/html/Documentation/((?:learning|notation|usage|web|music-glossary|extending)/"
            rf"[^/.]+(?:\.{_LANG})?\.html)",
            r"\1",
        )
        for each in ("", "ca", "cs", "de", "es", "fr", "hu", "it", "ja", "nl", "pt", "zh")
    ),
)
_DEBIAN_DOCS = tuple(
    Site(repository=f"debian:{package}", base=f"https://{base}", routes=((pattern, template),))
    for package, base, pattern, template in _DEBIAN
)

RECIPES: Mapping[str, Recipe] = {
    "rubylang": Recipe(sites=(_RUBY,)),
    "devblogs": Recipe(sites=(_NODE, _RUST, _GODOT), limits=FolderLimits(test_a_language=1_000)),
    "mdnlang": Recipe(sites=_MDN),
    "vuelang": Recipe(sites=_VUE),
    "k8s": Recipe(sites=(_KUBERNETES,), limits=FolderLimits(test=500, test_a_language=500, held_out=True)),
    "phplang": Recipe(sites=_PHP),
    "debdocs": Recipe(sites=_DEBIAN_DOCS),
}
