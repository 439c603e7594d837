"""The words by which `repair.secrets.addresses` recognises secrets in URLs, and what is known to be harmless."""

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SECRET_NAMES = _words(
    """
    accesscode aspxauth auth authcode authuserkey autologin bearer cfid cftoken cjc confirmationcode csrf
    email emailaddress feedtoken googleaccessid guestcode hmac invitation invitationcode invite invitecode
    invitekey joincode jwt keypairid logged login loginhash logout magic magiclink mail mceid mibextid
    mtid nonce onetimecode otp otpcode pass passkey pass_word passphrase phone phonenumber pin pincode
    privatekey pwd pwdhash recoverykey recipient reset resetcode resourcekey rlkey rsskey saml sas
    securitycode sess sessid session sharekey sid sig sign signed ssid sso subscriber ticket tk tok tsid
    unlock unsub unsubscribe unsubscribekey user userid usercode useremail userkey username
    verificationcode verifycode viewkey vcode wstoken xsrf authkey hashkey shareauth
    """
)
"""Parameters that identify a person or grant a right, whatever their value; written without _ - and dots."""

SECRET_ENDINGS = (
    *("token", "session", "sessionid", "sessid", "sesskey", "sessionkey", "authorization", "username"),
    *("credential", "credentials", "password", "passwd", "passcode", "passphrase", "secret", "signature"),
    *(
        "codeverifier",
        "apikey",
        "accesskey",
        "authkey",
        "privatekey",
        "activationkey",
        "resetkey",
        "emailaddress",
    ),
    *("invitecode", "invitekey", "sharekey", "secretkey", "securitytoken", "signinkey", "loginkey", "hmac"),
)
SECRET_BEGINNINGS = ("aspsessionid", "oauth", "saml", "xamzs", "xamzc", "xgoogs", "xgoogc", "xmss")

CODE_NAMES = _words(
    """
    key k code c sharing share shareid sharecode link linkid access verify verification confirm
    confirmation activate activation hash h state s t p r g d u e id uid cid eid gid pid rid tid oid pw
    guest poll survey room meeting doc file document folder sub subscription ref token1 x y z i m n a b f
    j l o q w context data payload request
    """
)
"""Parameters in which a short random value is a secret, and anything else is not."""

KEY_NAMES = _words(
    """
    key code k share shareid sharecode access verify verification confirm confirmation activate activation
    state guest pw
    """
)
"""Parameters in which anything but a word or a number is a secret."""

DIGEST_NAMES = _words(
    """
    v ver version rev revision sysid sha sha1 sha256 sha512 md5 checksum digest etag commit commitid
    build cb cachebuster ts t timestamp rnd rand random cache fingerprint oid parent tree blob ref hb
    rcl drc
    """
)
"""Parameters that name a version: hexadecimal digits in them are its hash."""

HARMLESS_NAMES = _words(
    """
    gclid gbraid wbraid dclid fbclid msclkid yclid twclid ttclid isbn issn doi pmid ean asin q query
    search searchterm s_kwcid keyword keywords title text lang locale language
    """
)
"""Parameters with long values that grant nothing; what somebody searched for is another question."""

SECRET_PLACES = _words(
    """
    cancel cancellation
    accept-invitation accept-invite acceptinvite account-recovery activate activation auth autologin
    change-password changepassword confirm confirm-email confirmation confirmemail confirmed
    email-confirmation email-verification emailconfirm emailverification forgot forgot-password
    forgotpassword impersonate invitation invitations invite invites join joinchat login login-link
    loginlink magic magic-link magic-login magiclink newpassword new-password oauth one-time onetime
    onetimesecret optin opt-in optout opt-out otp passwd password password-reset password_reset
    passwordreset passwords private recover recover-password recovery redeem reset reset-password
    reset_password resetpassword rsvp secret session set-password setpassword shared_invite shared-invite
    signin sign-in signup sso token tokens unsubscribe unsubscription unlock verification verify
    verify-email verify_email verifyemail webhook webhooks hooks hook guest-access guestaccess temporary
    temp-link reset-passwort passwort passwort-vergessen bestaetigen abmelden einladung desabonnement
    desinscription mot-de-passe reinitialiser restablecer contrasena convite redefinir-senha
    """
)
"""Path parts followed by a secret when the next part is anything but words and numbers."""

SHARE_PLACES = _words(
    """
    a access b board boards c cal calendar calendars d dl doc docs document documents download downloads
    drive e edit embed f feed feeds fi file files fo folder folders form forms fs g gl guest guests h i
    ical ics j k l link links list m media meet meeting meetings n note notes o open p pad pads
    participate paste pastes photo photos play poll polls pub public publish q quiz r read record
    recording recordings report reports response room rooms rec replay s scl scheduling sh share shared
    shares sharing shr signing sl sn snippet space spaces ssf store survey surveys t to track transfer u
    upload uploads v view viewer w whiteboard workspace x y z invoice invoices receipt receipts order
    orders booking bookings ticket tickets certificate certificates
    """
)
"""Path parts behind which even a short random piece is a secret."""

SHORT_LINK_PLACES = _words("s sh sl l link dl f share shared sharing")
"""Path parts behind which very short codes are links."""

DIGEST_PLACES = _words(
    """
    blame blob blobs by-hash changeset changesets commit commits compare diff digest digests file-by-hash
    hash layers manifests md5 object objects patch pull raw rev revision revisions sha sha1 sha256 sha512
    snapshot src tarball tree trees zipball archive archives git cgit gitweb patchwork packages pool ipfs
    ipns ark build builds job jobs actions + cksum checksum release releases pkgs +build
    """
)
"""Path parts behind which hexadecimal digits name a version or a file by its content."""

IDENTIFIER_PLACES = _words(
    """
    article articles artikel articulo artist author authors beitrag blog book books chapter collection
    collections content contents course courses data-set dataset datasets entity entries entry episode
    episodes event events exhibit faq game guide handle id ids image images img item items kb label lesson
    lessons library map maps media meldung movie museum nachrichten news node object page pages paper
    papers pid project-badge badge grade assets by-fingerprint spdxdocs person persons photo photos
    picture podcast post posts product products publication publications question recipe record records
    recording release release-group resource resources show song stories story svc tag term thesis topic
    topics track urn uuid video videos wiki work works
    """
)
"""Path parts behind which a UUID names something public."""

ASSET_ENDINGS = _words(
    """
    js mjs cjs css map json wasm png jpg jpeg gif svg webp avif ico bmp woff woff2 ttf otf eot mp3 mp4 m4a
    m4v webm ogg ogv wav mov vtt whl deb rpm apk gz xz bz2 zst tgz jar
    """
)
"""Files whose names carry the hash of their version."""

PUBLIC_HOSTS = (
    *("wikipedia.org", "wikimedia.org", "wiktionary.org", "wikibooks.org", "wikisource.org", "wikidata.org"),
    *(
        "youtube.com",
        "youtu.be",
        "youtube-nocookie.com",
        "doi.org",
        "arxiv.org",
        "archive.org",
        "archive.today",
    ),
    *(
        "open.spotify.com",
        "openlibrary.org",
        "snapshot.debian.org",
    ),
    *(
        "handle.net",
        "orcid.org",
        "musicbrainz.org",
        "w3.org",
        "nips.cc",
        "neurips.cc",
        "ietf.org",
        "rfc-editor.org",
        "sciencedirect.com",
    ),
)
"""Sites whose identifiers look random but lead only to public pages."""


def _paths(pattern: str) -> re.Pattern[str]:
    return re.compile(f"(?i)/(?:{pattern})")


_ANY = r"(?!(?:about|help|features?|pricing|legal|privacy|terms|robots\.txt|favicon\.ico|download)?/?$)."

SERVICES: tuple[tuple[str, re.Pattern[str]], ...] = (
    *((host, _paths(_ANY)) for host in ("meet.google.com", "forms.gle", "we.tl", "discord.gg", "1drv.ms")),
    *(
        (host, _paths(_ANY))
        for host in ("meet.jit.si", "chat.whatsapp.com", "join.slack.com", "files.slack.com")
    ),
    *((host, _paths(_ANY)) for host in ("hooks.slack.com", "signal.group", "db.tt", "photos.app.goo.gl")),
    *((host, _paths(_ANY)) for host in ("share.icloud.com", "calendar.app.google", "8x8.vc", "whereby.com")),
    *(
        (host, _paths(_ANY))
        for host in ("transfer.sh", "file.io", "send.vis.ee", "wormhole.app", "swisstransfer.com")
    ),
    ("docs.google.com", _paths(r"(?:a/[^/]+/)?\w+/(?:u/\d+/)?d/.")),
    ("classroom.google.com", _paths(r"(?:u/\d+/)?[cw]/.")),
    ("dropbox.com", _paths(r"(?:s|sh|scl|t|l|request|transfer)/.")),
    ("sharepoint.com", _paths(r":\w:/.")),
    ("icloud.com", _paths(r"(?:iclouddrive|pages|numbers|keynote|notes|photos|sharedalbum|share)/.")),
    ("wetransfer.com", _paths(r"downloads/.")),
    ("discord.com", _paths(r"invite/.|api/webhooks/.")),
    ("slack.com", _paths(r"files/.|shared_invite/.|t/[^/]+/shared_invite/.")),
    ("teams.microsoft.com", _paths(r"(?:l/(?:meetup-join|team|channel|chat)|meet)/.")),
    ("teams.live.com", _paths(r"meet/.")),
    ("t.me", _paths(r"joinchat/.|\+.")),
    ("notion.so", _paths(r".*[0-9a-f]{32}")),
    ("notion.site", _paths(r".*[0-9a-f]{32}")),
    ("airtable.com", _paths(r"(?:\w+/)*(?:shr|inv)\w{10}")),
    ("trello.com", _paths(r"(?:b|c|invite|w)/.")),
    ("figma.com", _paths(r"(?:file|design|proto|board|slides|deck|team_invite)/.")),
    ("miro.com", _paths(r"app/(?:board|live-embed)/.|welcomeonboard/.")),
    ("padlet.com", _paths(r"[^/]+/[^/]*[0-9a-z]{10,}")),
    ("doodle.com", _paths(r"(?:poll|meeting|bp|mm|group-poll|sign-up-sheet)/.")),
    ("calendly.com", _paths(r"(?:d|s)/.|(?:cancellations|reschedulings)/.")),
    ("gist.github.com", _paths(r"(?:[\w\-]+/)?[0-9a-f]{20,}")),
    ("gist.githubusercontent.com", _paths(r"[\w\-]+/[0-9a-f]{20,}")),
    ("overleaf.com", _paths(r"(?:read/.|project/.|\d{6,}[a-z]{8,})")),
    ("pastebin.com", _paths(r"(?:raw/|dl/)?\w{8}$")),
    ("surveymonkey.com", _paths(r"r/.|tr/.")),
    ("typeform.com", _paths(r"to/.")),
    ("list-manage.com", _paths(r"(?:unsubscribe|profile|track|subscribe/confirm|vcard)")),
    ("docusign.net", _paths(r"(?:signing|member|envelope)")),
    ("mega.nz", _paths(r"(?:file|folder|embed)/.")),
    ("box.com", _paths(r"(?:s|v|notes)/.")),
    ("loom.com", _paths(r"(?:share|embed)/.")),
    ("vimeo.com", _paths(r"\d+/[0-9a-z]{8,}$")),
    ("zoom.us", _paths(r"(?:rec/(?:share|play)|[jsw]|wc/join|my|meeting/register)/.")),
    ("webex.com", _paths(r"(?:meet|join|[\w\-]+/j\.php|[\w\-]+/ldr\.php|recordingservice)")),
    ("gotomeet.me", _paths(".")),
    ("canva.com", _paths(r"design/[\w\-]+/[\w\-]+/(?:view|edit|watch)|brand/join")),
    ("forms.office.com", _paths(r"(?:r|e|pages)/.")),
    ("evernote.com", _paths(r"shard/.")),
    ("asana.com", _paths(r"(?:-/share|app/[\w\-]+/-/invite)")),
    ("monday.com", _paths(r"(?:invite|forms?)/.")),
    ("mentimeter.com", _paths(r"\w{10,}$")),
    ("menti.com", _paths(r"\w{8,}$")),
    ("kahoot.it", _paths(r"challenge/.")),
    ("quizlet.com", _paths(r"join/.")),
    ("edmodo.com", _paths(r"(?:join|public)/.")),
    ("flipgrid.com", _paths(r"[0-9a-f]{8}$")),
    ("sync.com", _paths(r"dl/.")),
    ("pcloud.link", _paths(r"publink")),
    ("tresorit.com", _paths(r"l/.")),
    ("onetimesecret.com", _paths(r"(?:secret|private)/.")),
    ("privatebin.net", _paths(r"\?")),
)
"""Services that hand out links: a host, and how the path of such a link begins."""
