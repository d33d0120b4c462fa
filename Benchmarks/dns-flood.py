#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Floods a forwarder with different names, and asks it for cached names in between. Prints one line of JSON for each forwarder.

Start it by hand with a release build, on an idle machine: Benchmarks/dns-flood.py --beeline .build/release/beeline. Give
--server beeline,dnsdist,unbound to see other forwarders in the same run. The upstream is part of this program: for the flood it
answers that a name does not exist (nxdomain), answers so after a second (slow), or answers nothing (dead). With `dead`, the cached
names are not answered again either, and --ttl decides when they are stale.
"""
import argparse, collections, ctypes, json, multiprocessing, os, select, selectors, signal, socket, struct, subprocess, sys, tempfile, time

ADDRESS = b"\xc6\x33\x64\x01"
SOA = b"\xc0\x0c\0\6\0\1\0\0\1\x2c\0\x16\0\0" + struct.pack(">5I", 1, 2, 3, 4, 300)
HERE = ("127.0.0.1", 0)
BATCH, DIGITS = 64, 16


def question(number, name, kind=1):
    labels = b"".join(bytes([len(label)]) + label for label in name.split(b"."))
    return struct.pack(">6H", number, 256, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">2H", kind, 1)


def upstream(door, mode, ttl, flooding):
    """Answers each query. The names of the flood end with `.flood.example`."""
    late = collections.deque()
    door.settimeout(0)
    while True:
        wait = max(0, late[0][0] - time.monotonic()) if late else 0.2
        if select.select([door], [], [], wait)[0]:
            query, peer = door.recvfrom(4096)
            end = query.index(b"\0", 12) + 5
            head, start = query[:2], query[12:end]
            if b"\5flood" in query[:end].lower():
                reply = head + b"\x81\x83" + struct.pack(">4H", 1, 0, 1, 0) + start + SOA
                if mode == "nxdomain":
                    door.sendto(reply, peer)
                elif mode == "slow" and len(late) < 100_000:
                    late.append((time.monotonic() + 1, reply, peer))
            elif mode != "dead" or not flooding.is_set():
                has = query[end - 4:end - 2] == b"\0\1"
                record = b"\xc0\x0c\0\1\0\1" + struct.pack(">IH", ttl, 4) + ADDRESS if has else SOA
                counts = (1, 1, 0, 0) if has else (1, 0, 1, 0)
                door.sendto(head + b"\x81\x80" + struct.pack(">4H", *counts) + start + record, peer)
        while late and late[0][0] <= time.monotonic():
            _, reply, peer = late.popleft()
            door.sendto(reply, peer)


def flood(door, rate, seconds, kind, sent):
    """Sends datagrams with sendmmsg, from eight ports, because the server's sockets share the clients by their port."""
    class Vector(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    class Header(ctypes.Structure):
        _fields_ = [("name", ctypes.c_void_p), ("name_length", ctypes.c_uint32), ("vector", ctypes.POINTER(Vector)),
                    ("vectors", ctypes.c_size_t), ("control", ctypes.c_void_p), ("control_length", ctypes.c_size_t),
                    ("flags", ctypes.c_int)]

    class Message(ctypes.Structure):
        _fields_ = [("header", Header), ("length", ctypes.c_uint32)]
    sendmmsg = ctypes.CDLL(None, use_errno=True).sendmmsg
    template = question(7, b"x" * DIGITS + b".flood.example", kind)
    octets = bytearray(template * BATCH)
    base = ctypes.addressof(ctypes.c_char.from_buffer(octets))
    vectors = (Vector * BATCH)(*[Vector(base + len(template) * index, len(template)) for index in range(BATCH)])
    messages = (Message * BATCH)(*[Message(Header(None, 0, ctypes.pointer(one), 1)) for one in vectors])
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(8)]
    for one in sockets:
        one.connect(door)
    start, number = time.monotonic(), 0
    while (now := time.monotonic()) < start + seconds:
        if number > (now - start) * rate:
            time.sleep(0.0005)
            continue
        digits = os.urandom(BATCH * DIGITS // 2).hex().encode()
        for index in range(BATCH):
            place = len(template) * index + 13
            octets[place:place + DIGITS] = digits[index * DIGITS:(index + 1) * DIGITS]
        count = sendmmsg(sockets[number // BATCH % 8].fileno(), messages, BATCH, 0)
        number += BATCH
        sent.value += max(0, count)


class Asker:
    """Asks each question once, from a port of its own as stub resolvers do, and waits a second for the answer."""

    def __init__(self, door):
        self.door, self.open, self.selector = door, {}, selectors.DefaultSelector()
        self.asked, self.times = 0, []

    def ask(self, name):
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        one.connect(self.door)
        one.setblocking(False)
        self.selector.register(one, selectors.EVENT_READ)
        self.open[one] = time.monotonic()
        self.asked += 1
        one.send(question(self.asked & 65535, name))

    def collect(self, wait):
        """Reads the answers that arrive within a time, and gives up the questions that are a second old."""
        for key, _ in self.selector.select(wait):
            reply = b""
            try:
                reply = key.fileobj.recv(4096)
            except OSError:
                pass
            if reply.endswith(ADDRESS):
                self.times.append(time.monotonic() - self.open[key.fileobj])
            self.close(key.fileobj)
        for one in [one for one, start in self.open.items() if start < time.monotonic() - 1]:
            self.close(one)

    def close(self, one):
        self.selector.unregister(one)
        one.close()
        del self.open[one]


def start(name, options, upstream, home):
    """Starts a forwarder with two threads or more. Returns its process and port."""
    if name == "beeline":
        server = subprocess.Popen([options.beeline, "dns", "--listen", "127.0.0.1:0", "--dns", f"dns:127.0.0.1:{upstream}"],
                                  stdout=subprocess.PIPE, text=True, env={**os.environ, "HOME": home})
        return server, int(server.stdout.readline().split()[2].rsplit(":", 1)[1])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(HERE)
        port = free.getsockname()[1]
    file = os.path.join(home, name)
    texts = {
        "dnsdist": f"""
            setSecurityPollSuffix("")
            addLocal("127.0.0.1:{port}", {{reusePort=true}})
            addLocal("127.0.0.1:{port}", {{reusePort=true}})
            newServer({{address="127.0.0.1:{upstream}", sockets=8, healthCheckMode="up"}})
            getPool(""):setCache(newPacketCache(100000))
            """,
        "unbound": f"""
server:
    interface: 127.0.0.1@{port}
    num-threads: 2
    so-reuseport: yes
    do-daemonize: no
    use-syslog: no
    chroot: ""
    username: ""
    pidfile: ""
    directory: "{home}"
    module-config: "iterator"
    do-not-query-localhost: no
forward-zone:
    name: "."
    forward-addr: 127.0.0.1@{upstream}
""",
    }
    with open(file, "w") as out:
        out.write(texts[name])
    arguments = {"dnsdist": ["dnsdist", "--supervised", "--disable-syslog", "-C", file], "unbound": ["unbound", "-c", file]}[name]
    return subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL), port


def memory(process):
    with open(f"/proc/{process}/status") as file:
        lines = dict(line.split(":", 1) for line in file)
    return {key: int(lines[key].split()[0]) // 1024 for key in ("VmRSS", "VmHWM")}


def processor(process):
    """The seconds of CPU time that a process has used."""
    with open(f"/proc/{process}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--beeline", default=".build/release/beeline", help="the command to run")
    arguments.add_argument("--upstream", choices=["nxdomain", "slow", "dead"], default="nxdomain")
    arguments.add_argument("--rate", type=int, default=100_000, help="names of the flood a second")
    arguments.add_argument("--seconds", type=float, default=10)
    arguments.add_argument("--names", type=int, default=200, help="cached names, asked for in turn")
    arguments.add_argument("--asks", type=int, default=500, help="questions for cached names a second")
    arguments.add_argument("--ttl", type=int, default=300, help="of the cached names")
    arguments.add_argument("--type", type=int, default=1, help="the record type of the flood, such as 16 for TXT")
    arguments.add_argument("--server", default="beeline", help="the forwarders, separated by commas: beeline, dnsdist, unbound")
    options = arguments.parse_args()
    for name in options.server.split(","):
        measure(name, options)


def measure(server_name, options):
    door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    door.bind(HERE)
    flooding, sent = multiprocessing.Event(), multiprocessing.Value("q", 0)
    helpers = [multiprocessing.Process(target=upstream, args=(door, options.upstream, options.ttl, flooding), daemon=True)]
    helpers[0].start()
    with tempfile.TemporaryDirectory() as home:
        server, port = start(server_name, options, door.getsockname()[1], home)
        try:
            target = ("127.0.0.1", port)
            names = [b"cached%d.example" % number for number in range(options.names)]
            first, begin = Asker(target), time.monotonic()
            while not first.times and time.monotonic() < begin + 10:
                first.ask(names[0])
                first.collect(0.1)
            for name in names * 3:
                first.ask(name)
                while first.open:
                    first.collect(0.1)
            before, used, asker = memory(server.pid), processor(server.pid), Asker(target)
            flooding.set()
            helpers.append(multiprocessing.Process(target=flood, args=(target, options.rate, options.seconds, options.type, sent)))
            helpers[1].start()
            begin = time.monotonic()
            while helpers[1].is_alive():
                asker.collect(0.001)
                while asker.asked < (time.monotonic() - begin) * options.asks:
                    asker.ask(names[asker.asked % len(names)])
            took = time.monotonic() - begin
            used = processor(server.pid) - used
            while asker.open:
                asker.collect(0.1)
            after = memory(server.pid)
            good = sorted(asker.times)
            part = lambda share: round(good[min(len(good) - 1, int(len(good) * share))] * 1000, 2) if good else None
            print(json.dumps({"server": server_name, "upstream": options.upstream, "type": options.type,
                              "flood_per_s": round(sent.value / took), "asked": asker.asked,
                              "answered_share": round(len(good) / max(1, asker.asked), 4), "p50_ms": part(0.5), "p99_ms": part(0.99),
                              "max_ms": part(1), "cores": round(used / took, 2), "rss_before_mib": before["VmRSS"],
                              "rss_after_mib": after["VmRSS"], "rss_peak_mib": after["VmHWM"]}), flush=True)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait()
            helpers[0].terminate()


if __name__ == "__main__":
    main()
