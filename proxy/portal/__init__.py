"""linkmend's own addresses: /.well-known/linkmend/ on any host, and the portal http://linkmend.internal/.

Read `routes` first.
"""
