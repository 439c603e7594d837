"""Which linkmend this is."""


def version() -> str:
    """The version of the installed package; "unknown" when linkmend runs from files that were never installed."""
    from importlib import metadata  # most commands never ask

    try:
        return metadata.version("linkmend")
    except metadata.PackageNotFoundError:
        return "unknown"
