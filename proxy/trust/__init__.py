"""What may be reached and believed: addresses, ports, certificates, and sites that are passed through unseen."""
