"""The pages that users see: templates, texts in seven languages, functions that render them (pure).

Read `repairpage` first.
"""
