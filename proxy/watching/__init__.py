"""What linkmend tells of itself while it runs: figures, probes, recent problems."""
