"""The admin's desk: pages and an API over what the proxy remembers; it knows nothing of mitmproxy."""
