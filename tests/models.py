"""Models for the tests of who takes up which: the one that ships, and one that says the opposite."""

import json
from importlib import resources


def a_good_model(about="test"):
    """The bytes of a file that fits."""
    found = json.loads((resources.files("repair.ranking") / "models" / "default.json").read_bytes())
    return json.dumps({**found, "about": {"from": about}}).encode()


def a_bad_model():
    """Fits as well, but likes best what the good one likes least."""
    found = json.loads(a_good_model())
    for forest in (found["identity"], found["likeness"]):
        for tree in forest["trees"]:
            tree["value"] = [-value for value in tree["value"]]
    return json.dumps(found).encode()
