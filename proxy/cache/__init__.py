"""The rules of a shared HTTP cache (RFC 9111): pure functions over header lists and a clock. Read `decide` first.

decide         what to do with a request, given what is stored
storage        may a response be stored? The only way into the store; the disk is `proxy.store`
sharing        protection against cache poisoning: may an answer to one client be given to others?
freshness      how old is it, and how long is it fresh (4.2)
vary           which stored variant answers a request (4.1)
validation     conditional requests, both ways (4.3)
invalidation   which stored responses an unsafe request invalidates (4.4)
exchange       one request on its way through the cache, as a state machine
hits           the answer made from what is stored: the one engine for the addon and the fast path
ranges, serialize     a part of a body; the answer as bytes
collapsing, outages   one fetch for many identical requests; origins that did not answer a moment ago
pinning        imported pages as responses that are never evicted
status         Cache-Status (RFC 9211)
"""
