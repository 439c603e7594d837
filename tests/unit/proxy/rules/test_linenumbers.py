"""proxy.rules.linenumbers: the lines of keys, whatever stands between them."""

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from proxy.rules.linenumbers import tables

TEXT = '''# [[rule]] in a comment
top = 1

[[rule]]
name = "a # no comment"
domain = [
    "x.test",  # ]
    "[[rule]]",
]
reason = """
[[rule]]
action = "none" \\"""
""""
"quoted" = 'x'
[[ "rule" ]]
  'literal' = {a = [1,
2]}
name = \'\'\'
[[rule]]\'\'\'
[rule.more]
key = 1
'''


def test_headers_and_keys_are_found_and_strings_and_comments_are_not():
    tomllib.loads(TEXT)
    found = [(table.name, table.line, table.keys) for table in tables(TEXT)]
    assert found == [
        ("", 1, {"top": 2}),
        ("[rule]", 4, {"name": 5, "domain": 6, "reason": 10, "quoted": 14}),
        ("[rule]", 15, {"literal": 16, "name": 18}),
        ("rule.more", 20, {"key": 21}),
    ]


values = st.sampled_from(
    ['"x"', "'#'", "3", '["a",\n "b" # c\n]', '"""\n[[rule]]\nname = 1\n"""', "'''\n]\n'''", '"\\""', '""']
)


@given(st.lists(st.lists(values, max_size=4), max_size=5))
def test_every_key_is_found_on_the_line_it_was_written_on(rules):
    lines, expected = [], []
    for rule in rules:
        lines.append("[[rule]]  # a rule")
        expected.append({})
        for number, value in enumerate(rule):
            expected[-1][f"key{number}"] = sum(line.count("\n") + 1 for line in lines) + 1
            lines.append(f"key{number} = {value}")
    text = "\n".join(lines)
    assert len(tomllib.loads(text).get("rule", [])) == len(rules)
    assert [table.keys for table in tables(text)[1:]] == expected


@given(st.text(max_size=200))
def test_no_text_makes_it_raise(text):
    assert all(1 <= table.line <= text.count("\n") + 1 for table in tables(text))
