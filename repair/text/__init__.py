"""Words and what is measured on text: terms, stop words, languages, snippets. Start with words."""
