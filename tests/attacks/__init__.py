"""What one user, one site or one file must not be able to do to the others, tried with real programs on loopback.

One module per family of attacks. Each test has a control: the honest equivalent is stored, served or found, so that
no test passes because nothing worked at all. `attackers.py` has what several families need.
"""
