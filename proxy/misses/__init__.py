"""The miss log: what broke, what was offered, what was opened; and how it is erased. Read `record`, then `store`."""
