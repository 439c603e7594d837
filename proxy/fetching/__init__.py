"""Pages fetched on an admin's word: a queue that outlives crashes, and who works it off politely.

FetchQueue -> FetchRunner -> Fetcher (Robots, Door) -> Keeper -> response store and collection
"""
