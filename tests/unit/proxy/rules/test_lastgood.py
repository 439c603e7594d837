from proxy.rules.lastgood import LastGood


def test_rules_that_were_broken_before_they_were_copied_do_not_replace_the_last_good_ones(tmp_path):
    folder, kept = tmp_path / "rules.d", LastGood(tmp_path / "kept")
    folder.mkdir()
    file = folder / "10.toml"
    file.write_text('[[rule]]\nname = "exam"\nurl = "*/forbidden/*"\naction = "block"\n', encoding="utf-8")
    kept.keep(folder)
    file.write_text("[[rule", encoding="utf-8")
    kept.keep(folder)
    assert len(kept.book().rules) == 1
