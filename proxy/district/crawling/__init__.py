"""Crawling by many machines, over the district's PostgreSQL.

machine         this machine among those that crawl: its name, its sign of life, its connection
sharedfrontier  the links of a topic: found by all machines, fetched by one (`repair.crawling.frontierstore`)
hostleases      one request at a time to a host, and its pause, over all machines (`proxy.fetching.hostturns`)
"""
