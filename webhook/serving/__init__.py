"""Serving: from the bytes of a socket to one PEP 3333 application and back.

server       mounts an application on cheroot (its one importer); the only module that others need, with tls and limits
reactor      the threads: who leads, who works, who watches; slowness: whom the leader does not wait for
acceptor     new connections, and room for them
exchange     what happens on one connection, step by step, without ever blocking
channel      one socket as a pipe of clear bytes, TLS inside
framing, chunked, deadlines, refusal, limits   requests out of bytes; pure
connections  the table of connections, and who must go when there is no room
answers, ledger, tls, selfsigned               bytes of an answer; metrics and log; certificates
host         what all of it needs of the process
wsgi         the admission gate as such an application
"""
