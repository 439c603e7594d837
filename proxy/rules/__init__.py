"""The admin's rules: what is wanted for which addresses, readers, hours and faults; first match wins.

model       what is asked, what a rule says, the verdict: the place to begin reading
book        all rules, compiled, asked for every request; index and matching are how
domains, patterns, hours, networks, redirects   what rules are made of
keys, parse, places   from TOML to rules, or to faults with file and line
folder      the files and lists of a folder; live keeps its rules in force, lastgood over a bad start
history     edits from the desk, checked, kept, undone; files and writing are how
trial, described   which rule fires and why, and rules in words, for people
"""
