"""Lines of untrusted files."""

from proxy.cli.inputlines import MAX_BYTES, lines


def test_lines_are_numbered_as_an_editor_does_and_blank_ones_left_out(tmp_path):
    file = tmp_path / "lines"
    file.write_bytes(b"one\n\n  \nfour\r\nfive")
    assert list(lines(file)) == [(1, b"one\n"), (4, b"four\r\n"), (5, b"five")]


def test_too_long_line_is_skipped_and_counted_once(tmp_path):
    file = tmp_path / "lines"
    longest = b"a" * (MAX_BYTES - 1) + b"\n"
    file.write_bytes(longest + b"b" * 3 * MAX_BYTES + b"\nthree\n" + b"c" * (MAX_BYTES + 1))
    assert list(lines(file)) == [(1, longest), (2, None), (3, b"three\n"), (4, None)]
