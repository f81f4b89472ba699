# A server that accepts and never answers: in this process, waited for in the way the first word names, or for others, with
# its port in the file that the second word names.
import select, socket, sys
server = socket.create_server(("127.0.0.1", 0))
if sys.argv[1] == "serve":
    open(sys.argv[2], "w").write(str(server.getsockname()[1]))
    peer, _ = server.accept()
    while peer.recv(4096):
        pass
client = socket.create_connection(server.getsockname())
print("ready", flush=True)
if sys.argv[1] == "recv":
    client.recv(1)
elif sys.argv[1] == "select":
    while not select.select([client], [], [], 0.01)[0]:
        pass
elif sys.argv[1] == "epoll":
    epoll = select.epoll()
    epoll.register(client, select.EPOLLIN)
    epoll.poll()
