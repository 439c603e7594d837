"""Several processes as one program: who starts, watches, replaces and stops whom."""
