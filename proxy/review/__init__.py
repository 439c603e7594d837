"""Review of missed pages: lists, trends and marks over the miss log, for the admin's desk and the command line."""
