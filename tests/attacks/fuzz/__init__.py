"""A differential fuzzer: the fast path, the slow path and the origin must agree, whatever a client sends.

`requests.py` makes hostile requests, `origin.py` is a site that answers carelessly, `judge.py` sends the one to the
other through a real linkmend and compares. `corpus.jsonl` keeps requests that once found something, or that stand for
a family. `python -m tests.attacks.fuzz --minutes 30` runs it for long; `test_fuzz.py` for a moment in every test run.
"""
