"""The one outgoing HTTP client, for the fetch queue, web archives and soft-404 probes. Begin with `client`.

client      one GET: limits, deadlines, the parent proxy
guard       which hosts and addresses may be reached; checked again on each address connected to
redirects   redirects followed hop by hop
robots      robots.txt (RFC 9309)
prober      polite requests to a site about pages that cannot be there
errors      why there is no answer

Requests on behalf of a user, and revalidation, go through mitmproxy and `addons.ssrfguard`, which asks the same
`ReachPolicy`.
"""
