"""The rules of a shared HTTP cache (RFC 9111): pure functions over header lists and a clock. The disk is proxy.store.

decide       what to do with a request, given what is stored: the place to begin reading
storing      may a response be stored? The one way into the store
harmless, reflecting, bounds   which requests and responses cannot harm those who get a stored answer
freshness    how old is it, and how long is it fresh (4.2)
vary         which stored variant answers a request (4.1)
validating   conditional requests, both ways (4.3)
ranges, reply   the answer made from what is stored
wire, ready  the same answer as bytes, with what of it never changes worked out once
invalidating what an unsafe request makes stale (4.4)
status       Cache-Status (RFC 9211)
flights, unshared, outages   what is remembered between requests: who fetches what, and what is not worth trying
directives, fields, hopbyhop, entry   headers, parsed and written
"""
