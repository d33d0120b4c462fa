#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The server of the engine's benchmarks: prints its port, serves on 127.0.0.1 until its standard input is closed.

/ answers at once, /stall never does, /bulk?N sends N bytes, up to 1 GiB, as fast as the kernel can.
"""
import asyncio, resource, sys, tempfile, urllib.parse

resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
BULK = tempfile.TemporaryFile()
BULK.truncate(1 << 30)
# Otherwise the first client waits until the machine has found the memory for it, and looks slow beside the next one.
while BULK.read(1 << 20):
    pass
SMALL = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Exchange(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.buffer = transport, b""

    def data_received(self, data):
        self.buffer += data
        while b"\r\n\r\n" in self.buffer:
            head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
            target = urllib.parse.urlsplit(head.split(b" ")[1].decode())
            if target.path == "/bulk":
                asyncio.ensure_future(self.send(int(target.query)))
            elif target.path != "/stall":
                self.transport.write(SMALL)

    async def send(self, size):
        self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        try:
            await asyncio.get_running_loop().sendfile(self.transport, BULK, 0, size)
        except OSError:
            pass


async def main():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Exchange, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


asyncio.run(main())
