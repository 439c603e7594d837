from datetime import timedelta

from repair.packs.packmodel import PackOrigin
from repair.packs.packstore import PackStore
from tests.holdings import SITE, a_collection, a_document
from tests.make import A_MOMENT
from tests.packing import AT, ORIGIN

PAGE, OTHER = f"{SITE}/page", f"{SITE}/other"


def test_page_knows_its_pack_until_it_is_fetched_again(tmp_path):
    with a_collection(tmp_path, a_document("/page"), a_document("/other")) as collection:
        store = PackStore(collection.database, clock=lambda: 1_800_000_000.0)
        store.note(ORIGIN, [PAGE, OTHER, f"{SITE}/never-saved"])
        assert store.of(PAGE) == ORIGIN
        assert [(pack.origin, pack.pages) for pack in store.list()] == [(ORIGIN, 2)]
        collection.add(a_document("/page", text="Newer words."), fetched_at=A_MOMENT + timedelta(days=1))
        collection.remove(OTHER)
        assert (store.of(PAGE), store.of(OTHER)) == (None, None)
        assert store.list()[0].pages == 0
        with collection.database.read() as connection:
            assert connection.execute("SELECT count(*) FROM page_packs").fetchone() == (1,)


def test_same_pack_imported_again_is_listed_once_and_a_new_edition_beside_it(tmp_path):
    newer = PackOrigin(
        title="Soil", sender="Hill School", licence="CC BY 4.0", created_at=AT + timedelta(days=9)
    )
    with a_collection(tmp_path, a_document("/page")) as collection:
        store = PackStore(collection.database)
        for origin in (ORIGIN, ORIGIN, newer):
            store.note(origin, [PAGE])
        assert {pack.origin: pack.pages for pack in store.list()} == {ORIGIN: 0, newer: 1}
