"""repair.soft404.marks: names in the markup that mark an error page, and names that only look like it."""

import pytest

from repair.parse import htmlpage
from repair.soft404.marks import NUMBER, marks_of


def marks(html):
    return marks_of(htmlpage.tree(html), html)


@pytest.mark.parametrize(
    ("html", "mark"),
    [
        ("<body class='home error404 wide'>", "name"),
        ("<body id=pagenotfound>", "name"),
        ("<body class=template-404>", "name"),
        ("<div class=dokuNotFound></div><div class='page notFound'></div>", "name"),
        ("<section class='error-404 not-found'>", "name"),
        ("<body class='cms-no-route'>", "name"),
        ("<link rel=stylesheet href='/css/page-not-found.min.css?v=3'>", "style"),
        ("<link rel=canonical href='https://school.example/404.html'>", "address"),
        ("<link rel=canonical href='https://school.example/pt-br/404/'>", "address"),
        ("<meta property=og:url content='https://school.example/page-not-found'>", "address"),
        ("<img src=/img/404.svg>", "image"),
        ("<img src=/img/404-error.jpg>", "image"),
        ("<img src=cat.jpg alt='Page not found'>", "label"),
        ("<svg aria-label='Error 404'></svg>", "label"),
    ],
)
def test_names_of_error_pages_are_marks(html, mark):
    assert marks(html) == {mark}


@pytest.mark.parametrize(
    "html", ["<img src=404.jpg>", "<img src=a.png alt=404>", "<body class=page-404>", "<div id=row-404>"]
)
def test_a_404_that_may_be_a_counter_is_only_a_number(html):
    assert marks(html) == {NUMBER}


@pytest.mark.parametrize(
    "html",
    [
        "<p>404 Not Found</p>",
        "<a href=404.html class=error-404>the error page</a>",
        "<body class='page-id-404 postid-404 page-node-404'>",
        "<h2 id=404-not-found>404 Not Found</h2>",
        "<section id=page-not-found>",
        "<div class=section id=page-not-found>",
        "<link rel=prefetch as=style href=/_nuxt/error-404.css>",
        "<link rel=stylesheet href=/_nuxt/error-404.8bdb1f.css>",
        "<script src=/_next/static/chunks/app/not-found.js></script>",
        "<link rel=canonical href='https://school.example/lessons/404'>",
        "<link rel=canonical href='https://school.example/page-404.html'>",
        "<img src=403.jpg><img src=404.jpg><img src=405.jpg>",
        "<img src=image-not-found.png>",
        "<img src=peugeot-404.jpg alt='Peugeot 404'>",
        "<link rel=canonical href='http://[404.html'>",
    ],
)
def test_other_names_are_no_marks(html):
    assert marks(html) == frozenset()
