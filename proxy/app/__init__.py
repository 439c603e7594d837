"""Which process holds what, and how they start and stop. Read `topology` first.

topology        the two ways to run: a supervisor with workers and one backend, or everything in one process
supervisor      starts, watches, replaces and stops child processes
worker          what a worker holds: the addons and what they need
serving         mitmproxy over a worker: start, reload, drain
backend         what the backend holds: the stores with one writer, ranking, archives
admin           the admin UI, the metrics port, the fetch queue, removals: in the backend
backendclient   the backend as workers see it from another process
sharedstate     what every process has: settings, rules, responses, what judges pages
clientstate     what is known of clients, kept alike in all workers
rundir          the folder of the unix sockets
mitmdump        linkmend as a script of a stock mitmdump
"""
