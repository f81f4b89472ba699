# An SSH server without passwords, whose commands print "ready" and then nothing; its port goes into the file that is named.
import asyncio, sys
import asyncssh

async def command(process):
    process.stdout.write("ready\n")
    await asyncio.Event().wait()

class Open(asyncssh.SSHServer):
    def begin_auth(self, username):
        return False

async def serve():
    key = asyncssh.generate_private_key("ssh-ed25519")
    server = await asyncssh.listen("127.0.0.1", 0, server_factory=Open, server_host_keys=[key], process_factory=command)
    open(sys.argv[1], "w").write(str(server.get_port()))
    await asyncio.Event().wait()

asyncio.run(serve())
