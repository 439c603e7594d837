"""A chaos test for linkmend: a class browses while everything around it fails. One seed determines a trial.

`lessons` makes the site's pages, `site` serves them, `badly` serves them with faults. `wire` is a strict HTTP client,
and `pupils` browse with it. `judge` checks their answers; `excuses` (with `squidlog`) knows which faults were caused
on purpose. `school` runs the programs, `log` collects linkmend's output, `archive` is a web archive, and `trouble`
makes them fail. `promises` tracks what must not be lost. `run` connects everything, and `report` prints the result.
"""
