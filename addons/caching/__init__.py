"""What the cache addon does to a flow: answer from the store, store what comes, revalidate. Read originanswers
first.
"""
