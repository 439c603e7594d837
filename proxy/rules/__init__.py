"""The admin's rules: what to do for which addresses, clients, hours and kinds of misses; the first match wins.

model         queries, rules and verdicts: read this first
ruleset       all rules, compiled, evaluated for every request with index and matching; verdictcache remembers
domains, patterns, hours, networks, redirects, urlspellings   what rules are made of
keys, parse, linenumbers   from TOML to rules, or to faults with file and line
folder        the files and lists of a folder; live reloads them, lastgood keeps a copy of the last valid rules
history       edits from the admin UI, with checks, versions and undo; writing makes the text of a rule
trial, describe   which rule fires and why, and rules in words
"""
