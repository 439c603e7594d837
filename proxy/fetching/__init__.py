"""Pages fetched on an admin's request: a queue that survives crashes, and a polite fetcher. Read `service` first.

FetchQueue -> FetchRunner -> Fetcher (RobotsRules, HttpClient) -> FetchedPageSaver -> response store and collection
"""
