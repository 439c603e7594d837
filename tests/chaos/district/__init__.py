"""Chaos in a district: real engines are killed, hung and cut off while three schools browse.

line      a school's line to the district, as TCP forwarders that can be cut
engines   OpenSearch of three nodes, PostgreSQL with a standby, Squids in a hierarchy
schools   the schools, and one that is alone, with the readers of each
trouble   what goes wrong, from a seed
trial     one trial and its report: read this first; `python -m tests.chaos.district --minutes 20`
"""
