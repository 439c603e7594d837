"""What schools say of themselves in `presence`, as far as it can be shown: each writes its own row, with any text."""

PRESENCE = (
    "SELECT school, waiting, least(seen_at, now()) AS seen_at,"
    " regexp_replace(version, '[^0-9A-Za-z.+-]', '', 'g') AS version"
    " FROM presence WHERE isfinite(seen_at) AND seen_at > '2000-01-01'"
)
