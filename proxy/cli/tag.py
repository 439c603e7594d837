"""`linkmend tag`: tags that say what a missing page, or all pages of a directory, are about."""

from typing import Annotated

import typer

from proxy import logs
from proxy.cli.options import Config, Data, Json, open_collection, print_json, print_line, settings_from
from proxy.errors import LinkmendError
from repair.text import urls


def tag(
    url: Annotated[
        str, typer.Argument(metavar="URL", help="A missing page, or a directory with a trailing slash.")
    ],
    tags: Annotated[
        list[str] | None,
        typer.Argument(metavar="TAG...", help="Tags to add; without any, list the existing ones."),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove these tags.")] = False,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Tag a missing page with its subject, to improve its repair page."""
    if not urls.is_web_url(url):
        raise LinkmendError(f"{url}: expected an http(s) URL")
    from repair.collection.tags import TagStore

    settings = settings_from(config)
    logs.set_up(settings.log)
    with open_collection(settings, data) as collection:
        store = TagStore(collection.database)
        for each in tags or ():
            if remove:
                store.detach(url, each)
            elif not store.attach(url, each):
                raise LinkmendError(f"{each[:80]!r}: expected a tag of 1 to 60 characters")
        for name, times in store.tags(urls.normal(url)):
            if as_json:
                print_json({"tag": name, "times": times})
            else:
                print_line(f"{name} ({times})")
