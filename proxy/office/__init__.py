"""The office: the one process that holds the stores and repairs, beside those that carry the traffic.

    worker  ──┐                        ┌── collection, index, link graph, hints     (one writer)
    worker  ──┼── unix socket, msgpack ┤── miss log, archives with their limiter
    worker  ──┘                        └── what clients saw, told on to the other workers

wire        messages as bytes and back
messages    what is said on the line
line        a worker's end: questions with a time limit, notes that never wait, reconnects by itself
server      the office's end
standins    the stores as a worker sees them
shared      what is known of clients, the same in every worker
rundir      the folder of the socket
"""
