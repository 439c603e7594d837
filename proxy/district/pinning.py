"""Pins of the district's admins: offered first in every school, as the school's own pins are."""

from psycopg.types.json import Jsonb

from proxy.district.connection import DistrictConnection
from proxy.district.told import digest
from proxy.errors import LinkmendError
from repair.collection.pins import same_page_key
from repair.secrets.publicaddresses import is_shareable
from repair.text import urls

_DISTRICT = "(SELECT id FROM schools WHERE is_district)"


def pin_for_all(connection: DistrictConnection, url: str, target: str) -> None:
    """Offer `target` first for `url` in every school, in place of an earlier pin. Raises LinkmendError."""
    for address in (url, target):
        if not urls.is_web_url(address) or not is_shareable(address):
            raise LinkmendError(f"{address[:200]}: expected a public web address")
    key, body = _key(url), {"url": urls.normal(url), "target": urls.normal(target)}
    if key == _key(target):
        raise LinkmendError("a page cannot replace itself")
    connection.execute(
        f"INSERT INTO learnt (school, kind, key, body) VALUES ({_DISTRICT}, 'pin', %s, %s)"  # noqa: S608
        " ON CONFLICT (school, kind, key) DO UPDATE SET body = excluded.body",
        (key, Jsonb(body)),
    )


def unpin_for_all(connection: DistrictConnection, url: str) -> bool:
    """Take a pin back; returns whether there was one."""
    if not urls.is_web_url(url):
        return False
    taken = connection.execute(
        f"UPDATE learnt SET body = NULL WHERE school = {_DISTRICT} AND kind = 'pin' AND key = %s"  # noqa: S608
        " AND body IS NOT NULL",
        (_key(url),),
    )
    return taken.rowcount > 0


def _key(url: str) -> bytes:
    return digest("pin", same_page_key(url))
