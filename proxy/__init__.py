"""Running the proxy and what it remembers; mitmproxy itself is used in `addons`. Read `main`, then `proxy.app`.

cli, app               the commands; which process holds what, and how they start and stop
rpc                    what workers ask the backend
cache, store, headers  RFC 9111 on values; responses on disk and in memory; header fields
admin, monitoring      the admin UI and API; metrics and health
portal, pages          linkmend's own addresses; the pages that users see
misses, rules, fetching, archives, backup, removal   one feature each
privacy, reach, tls    what is known of clients; what they may reach; certificates
http                   the one outgoing HTTP client
repairservice          from a miss to its repair page: where `proxy` calls `repair`
"""
