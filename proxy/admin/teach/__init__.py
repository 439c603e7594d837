"""The teachers' pages and the lesson pages of pupils, in seven languages. Read `pages` first."""
