"""Calls between workers and the backend, declared once as Protocols. Read `protocol` first.

    worker ──┐                               ┌── implements the services: collection, ranking, archives, miss log
    worker ──┼── websocket over unix socket ─┤
    worker ──┘                               └── passes broadcasts on to the other workers

protocol    the services and their methods; a new question is declared here, and implemented in the backend
methods     request, notify, broadcast; the msgspec types that are derived from the annotations
wire        messages as bytes, and the queue of those that wait to be sent
client      a worker's end, `RpcClient`
server      the backend's end, `RpcServer`
"""
