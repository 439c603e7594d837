"""How many examples a property test tries that wants another number than the profile's."""

from hypothesis import settings

_USUAL = settings.get_profile("default").max_examples


def examples(count, **more):
    """This many with the usual profile, and as much fewer with another as that one has fewer."""
    return settings(max_examples=max(5, count * settings().max_examples // _USUAL), **more)
