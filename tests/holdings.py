"""Documents and collections for the tests of what is held."""

from repair.collection.collection import Collection
from repair.model import Document, Link
from repair.settings import CollectionSettings
from tests.make import A_MOMENT

SITE = "http://school.test"


def a_link(target="/other", anchor="other page", **known):
    return Link(target_url=target if "://" in target else SITE + target, anchor=anchor, **known)


def a_document(url="/page", title="A page", text="Some words of a page.", links=(), **known):
    return Document(
        url=url if "://" in url else SITE + url, title=title, text=text, links=tuple(links), **known
    )


def a_collection(directory, *documents, commit=True, **settings):
    """A collection in a folder that holds these documents and can find them."""
    collection = Collection.open(directory, CollectionSettings(**settings))
    for document in documents:
        collection.add(document, fetched_at=A_MOMENT)
    if commit:
        collection.commit()
    return collection


def found(collection, *terms, limit=10):
    """The paths of the pages found for terms, best first."""
    hits = collection.search([(term, 1.0) for term in terms], limit=limit)
    return [hit.page.url.removeprefix(SITE) for hit in hits]
