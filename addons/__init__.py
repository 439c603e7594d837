"""Which addons there are, in which order, and why that order.

    Clients      refuse strangers, and connections past all measure, before anything is read
    SlowClients  lets go of clients that take for ever over a request, an upload or the rest between two
    Bypass       has tunnels passed on unread where a rule or the pass-through list says so
    Tunnels      keeps nothing of what is no web page, and keeps out what a rule blocks
    Identify     says which site each request is for, and writes its Host
    Connections  tells what is nobody else's because of its connection, and drops what was meant for one only
    Detour       knows again who was sent round by the portal, and takes the mark of that out of the address
    Rules        gives each request the admin's verdict, and answers what a rule blocks or redirects
    Arrival      answers who came back from that way, unless a rule blocks them
    Uploads      let large uploads through as they come
    Admin        leads to the desk, before the helper takes the portal's paths for its own
    Helper       requests to linkmend itself; nobody else should take them for a site's
    Guard        refuses addresses that nobody may reach through us, held or not (addons/reach.py)
    Cache        answers what it holds; nothing below sees such a request
    Parent       points what is left at Squid, and reads Squid's marks on the way back
    Deadlines    starts the clock for what is really sent to the web
    Failures     turns an origin's failure into an answer (its error hook after the cache's stale one)
    Held         has rules about the content type count for what the cache held (its response hook after the cache's)
    Soft404      tells pages that only pretend to be there, before they are kept or shown
    Quick        (its response hook) notes which hits are known to be there; those it answers before a flow is made
    Harvest      reads what the origin said, before it is rewritten
    Repair       (its response hook) rewrites a miss
    Follow       tells a reader whom a rule led to a page from which missing address
    Counting     sees what became of it all
    UnderWay     counts what is being answered, so that a stop can wait until all others are done with it

mitmproxy calls every hook in one order, so Repair stands last and its `request` hook, which only looks, runs last
too; that is harmless, since a response set by an addon above does not keep later addons from being called.
The cache must see the parent's mark before it decides about a stale copy: Parent marks in `responseheaders`,
the cache decides in `response`.
"""
