"""What somebody may want of linkmend itself: the page or call that an address of ours stands for (pure)."""

from dataclasses import dataclass

from proxy.portal.addresses import BrowseList
from proxy.portal.devices import CertificateForm
from proxy.portal.timeparameters import TimeView


@dataclass(frozen=True, slots=True, kw_only=True)
class PortalRoute:
    """The start page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateRoute:
    """The CA certificate, in the format that a device wants."""

    form: CertificateForm


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedRoute:
    """A client that gets this over https trusts the certificate: a page, or a `picture` for the test on the start
    page.
    """

    picture: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyRoute:
    """What the proxy sees and stores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PacRoute:
    """The proxy auto-configuration file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRoute:
    """A search in the collection; the query may be empty. Filters are "" for none; pages count from 1."""

    query: str
    topic: str = ""
    language: str = ""
    kind: str = ""
    page: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRoute:
    """A topic with its sub-topics; or all pages of one `subtopic`, "" for those of the topic itself."""

    topic: str
    subtopic: str | None = None
    page: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowseRoute:
    """A list of saved pages or sites; `of` is the site or the language."""

    list: BrowseList
    of: str = ""
    page: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyRoute:
    """The saved copy of a page."""

    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceRoute:
    """A user opened a page that was offered for a miss: 0 the copy, n the nth alternative."""

    miss_id: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestRoute:
    """A user says what they looked for, in the body of a form (`suggestion_of`). The id of the miss is in there: only
    the repair page shown to this user contains it.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowAnywayRoute:
    """A user wants to see the page that was taken for missing. The id is the proof: only the repair page shown to
    this user contains it.
    """

    miss_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MementosRoute:
    """A user wants to see the archived versions of the missing page.

    With `part`, the script of our page requests only the section about archives, once there is something newer than
    version `seen`.
    """

    miss_id: str
    view: TimeView
    part: bool = False
    seen: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LateOffersRoute:
    """A user wants to see what came later than their repair page; with `part`, its script asks."""

    miss_id: str
    part: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedRoute:
    """A request to linkmend as a web archive (`proxy.archives`): path and query as sent; `base` is our address in
    the request.
    """

    target: str
    base: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticRoute:
    """A file of proxy/pages/static."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToPortalRoute:
    """The same page at the portal, to be sent as a 303."""

    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BackRoute:
    """The return from a portal redirect (`proxy.privacy.portalredirect`): redirect to `url`, if we sent the user
    here.
    """

    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedRoute:
    """Our address, but not allowed: 400 malformed, 403 not a person's navigation, 404 no such page, 405 wrong
    method.
    """

    status: int


DeviceCall = PortalRoute | PacRoute
"""Calls whose response depends on the address at which the visitor reached us, or on the device."""
HelperCall = (
    CertificateRoute
    | TrustedRoute
    | PrivacyRoute
    | SearchRoute
    | TopicRoute
    | BrowseRoute
    | CopyRoute
    | ChoiceRoute
    | ShowAnywayRoute
    | SuggestRoute
    | MementosRoute
    | LateOffersRoute
    | StaticRoute
    | ToPortalRoute
    | BackRoute
    | RefusedRoute
)
