"""What a collection should grow by: misses grouped into wants, and what one night does about them. No network.

Read `nightplan` first: it brings the others together.

wants         misses that belong together: of a topic, or alike      termvectors   texts as weighted terms
nightplan     which addresses to fetch, which topics to crawl        schedule      when to look again for a dead page
night         the plan carried out, whoever fetches
neighbours    links beside a lost one that may lead to the same      growthstore   what was tried and what came of it
"""
