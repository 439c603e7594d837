"""The focused crawler without its network: topics, what belongs to them, and which link to fetch next.

Read `topiccrawl` first: it brings the others together.

topics        what a school teaches: Topic                     syllabus      topics out of CSV and outlines
pagejudge     the probability that a page belongs to a topic   classifier    the linear SVM behind it (scikit-learn)
frontier      links not yet fetched, and what is known of them linkworth     how much fetching a link is worth
traps         addresses that lead nowhere new                  topicstore    topics and their pages in SQLite
revisits      when pages are asked for again
frontierstore what a crawl asks of the place where its frontier is kept
crawlstore    the frontier in SQLite, so that `kill -9` loses nothing; several machines share one in PostgreSQL
"""
