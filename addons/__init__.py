"""Which addons there are, in which order, and why that order.

    Clients      refuse strangers, and connections past all measure, before anything is read
    UnderWay     count what is being answered, so that a stop can wait for it
    Uploads      let large uploads through as they come
    Helper       requests to linkmend itself; nobody else should take them for a site's
    Cache        answers what it holds; nothing below sees such a request
    Parent       points what is left at Squid, and reads Squid's marks on the way back
    Deadlines    starts the clock for what is really sent to the web
    Failures     turns an origin's failure into an answer (its error hook after the cache's stale one)
    Soft404      tells pages that only pretend to be there, before they are kept or shown
    Harvest      reads what the origin said, before it is rewritten
    Repair       (its response hook) rewrites a miss

mitmproxy calls every hook in one order, so Repair stands last and its `request` hook, which only looks, runs last
too; that is harmless, since a response set by an addon above does not keep later addons from being called.
The cache must see the parent's mark before it decides about a stale copy: Parent marks in `responseheaders`,
the cache decides in `response`.
"""
