"""linkmend's own addresses: the helper paths on any host and http://linkmend.internal/, where devices are set up."""
