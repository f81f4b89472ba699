# As much of a database server as psql needs to show its prompt; its port goes into the file that is named.
import socket, struct, sys
def message(kind, body):
    return kind + struct.pack("!I", len(body) + 4) + body
server = socket.create_server(("127.0.0.1", 0))
open(sys.argv[1], "w").write(str(server.getsockname()[1]))
peer, _ = server.accept()
while True:
    length, code = struct.unpack("!II", peer.recv(8))
    peer.recv(length - 8) if length > 8 else None
    if code == 196608:
        break
    peer.sendall(b"N")
peer.sendall(message(b"R", struct.pack("!I", 0)) + message(b"S", b"server_version\x0015.0\x00")
    + message(b"S", b"client_encoding\x00UTF8\x00") + message(b"Z", b"I"))
while peer.recv(4096):
    pass
