#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Simulates a fleet of `beeline serve` behind one name for 24 hours, with 10^6 clients, and prints where the load goes.

    Benchmarks/fleet-simulation.py                  the table of docs/SCALE.md, in less than a minute
    Benchmarks/fleet-simulation.py --servers 16     another fleet; --help lists the options

The result depends on the options and --seed only. What is simulated, event by event: expiry of answers in the cache of each
server and in Redis, questions to upstreams, the moment between an upstream's answer and its arrival in Redis, a server that
restarts with an empty cache, an outage of Redis and one of the upstreams, names that leave a full cache. What is not: the queries
of single clients, which are a Poisson process for each name and server, and answers that are refreshed before they expire.
Names are a sample by popularity: the most popular ones all, the others a few of each magnitude, with weights.
"""
import argparse
import bisect
import heapq
import math
import random

SLOT = 300  # seconds
SLOTS = 86_400 // SLOT
TTLS = [(20, 0.10), (60, 0.35), (300, 0.35), (3_600, 0.15), (86_400, 0.05)]
# The share of clients by time zone, in hours.
ZONES = [(0, 0.6), (-6, 0.25), (7, 0.15)]
TOP = 40
PER_STRATUM = 12


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--clients", type=int, default=1_000_000)
    parser.add_argument("--visits", type=float, default=60, help="connections' worth of questions of a client a day")
    parser.add_argument("--names-per-visit", type=float, default=6)
    parser.add_argument("--servers", type=int, default=4)
    parser.add_argument("--names", type=int, default=500_000, help="names that exist, with Zipf's law")
    parser.add_argument("--zipf", type=float, default=1.0)
    parser.add_argument("--cache", type=int, default=100_000, help="names that a server keeps (beeline serve: 100,000)")
    parser.add_argument("--idle", type=float, default=60, help="seconds until a server closes an idle connection")
    parser.add_argument("--latency", type=float, default=0.02, help="seconds from a question to an upstream to its answer in Redis")
    parser.add_argument("--per-core", type=float, default=71_000, help="cached DoH questions a second of one core")
    parser.add_argument("--seed", type=int, default=36)
    return parser.parse_args()


def activity(hour):
    """The activity of clients by their local hour; the mean over a day is 1."""
    return 1 + 0.75 * math.cos((hour - 20.5) / 24 * 2 * math.pi) + 0.1 * math.cos((hour - 12.5) / 12 * 2 * math.pi)


class Outage:
    def __init__(self, what, start, end):
        self.what, self.start, self.end = what, round(start * 3_600), round(end * 3_600)

    def covers(self, time):
        return self.start <= time < self.end


class Fleet:
    """The clients, and the queries a second of each server over the day."""

    def __init__(self, o, failed):
        chance = random.Random(o.seed)
        self.servers = range(o.servers)
        # Each client has its own activity, time zone, and server; with its server away, another one.
        weight = [[[0.0] * len(ZONES) for _ in self.servers] for _ in range(2)]
        share = [sum(s for _, s in ZONES[:i + 1]) for i in range(len(ZONES))]
        total = 0.0
        for _ in range(o.clients):
            pace = chance.gammavariate(2, 0.5)
            zone = bisect.bisect(share, chance.random() * share[-1])
            home = int(chance.random() * o.servers)
            other = home
            if home == 0 and o.servers > 1:
                other = 1 + int(chance.random() * (o.servers - 1))
            weight[0][home][zone] += pace
            weight[1][other][zone] += pace
            total += pace
        day = o.clients * o.visits * o.names_per_visit / 86_400 / total
        self.rate, self.cumulative = [], []
        for server in self.servers:
            rates = []
            for slot in range(SLOTS):
                now = slot * SLOT
                ways = weight[1 if failed.covers(now) else 0][server]
                rates.append(day * sum(w * activity(now / 3_600 + shift) for w, (shift, _) in zip(ways, ZONES)))
            sums = [0.0]
            for rate in rates:
                sums.append(sums[-1] + rate * SLOT)
            self.rate.append(rates)
            self.cumulative.append(sums)

    def next_query(self, server, after, popularity, chance):
        """When a server is asked for a name after a moment; None after the day."""
        sums = self.cumulative[server]
        slot = int(after // SLOT)
        target = sums[slot] + self.rate[server][slot] * (after - slot * SLOT) + chance.expovariate(popularity)
        if target >= sums[-1]:
            return None
        slot = bisect.bisect_right(sums, target) - 1
        return slot * SLOT + (target - sums[slot]) / self.rate[server][slot]


    def queries(self, server, start, end):
        """The queries of a server between two moments."""
        def sum_to(time):
            slot = min(int(time // SLOT), SLOTS - 1)
            return self.cumulative[server][slot] + self.rate[server][slot] * (time - slot * SLOT)
        return sum_to(min(end, 86_400)) - sum_to(start)


class Tally:
    """Counts by slot."""

    def __init__(self):
        self.rows = {}

    def add(self, what, time, count):
        self.rows.setdefault(what, [0.0] * SLOTS)[int(time // SLOT)] += count

    def sum(self, what, slots=range(SLOTS)):
        row = self.rows.get(what)
        return sum(row[s] for s in slots) if row else 0.0

    def per_second(self, what):
        """The highest rate of any slot, and when."""
        row = self.rows.get(what) or [0.0] * SLOTS
        best = max(range(SLOTS), key=row.__getitem__)
        return row[best] / SLOT, best


def sample(o):
    """Names as (popularity, weight)."""
    scale = sum(rank ** -o.zipf for rank in range(1, o.names + 1))
    for rank in range(1, TOP + 1):
        yield rank ** -o.zipf / scale, 1
    low = TOP + 1
    while low <= o.names:
        high = min(o.names + 1, max(low + 1, int(low * 1.35)))
        mean = sum(rank ** -o.zipf for rank in range(low, high)) / scale / (high - low)
        count = min(PER_STRATUM, high - low)
        for _ in range(count):
            yield mean, (high - low) / count
        low = high


def keep_time(o, names, rate):
    """How long a full cache keeps a name that is not asked again, in seconds (Che's approximation of LRU)."""
    low, high = 1.0, 864_000.0
    for _ in range(60):
        middle = (low * high) ** 0.5
        if sum(weight * -math.expm1(-popularity * rate * middle) for popularity, weight in names) > o.cache:
            high = middle
        else:
            low = middle
    return low


def run_name(o, fleet, tally, outages, popularity, weight, ttl, keep, chance):
    """The day of one name: misses, shared answers and questions to upstreams."""
    server_away, redis_away, upstreams_away = outages
    queue = []
    for server in fleet.servers:
        first = fleet.next_query(server, 0, popularity, chance)
        if first is not None:
            queue.append((first, server))
    heapq.heapify(queue)
    shared_from, shared_until = 0.0, 0.0
    has_answer = [False] * o.servers
    while queue:
        now, server = heapq.heappop(queue)
        if server == 0 and server_away.covers(now):
            # The clients are elsewhere; this is the remainder of a slot.
            now = server_away.end
        tally.add("misses", now, weight)
        uses_redis = not redis_away.covers(now)
        if uses_redis:
            tally.add("redis", now, weight)
        if uses_redis and shared_from <= now < shared_until:
            tally.add("shared", now, weight)
            until = shared_until
            has_answer[server] = True
        elif upstreams_away.covers(now):
            # The answer past its TTL is used for 30 s, if this server has one.
            until = min(now + 30 if has_answer[server] else now, upstreams_away.end)
            what = "stale" if has_answer[server] else "failed"
            tally.add(what, now, weight * (1 + popularity * fleet.queries(server, now, until)))
        else:
            has_answer[server] = True
            tally.add("upstream", now, weight)
            until = now + ttl
            if uses_redis:
                tally.add("redis", now, weight)
                shared_from, shared_until = now + o.latency, now + ttl
        if until >= 86_400:
            continue
        # A full cache drops a name that is not asked for a while.
        rate = popularity * fleet.rate[server][int(now // SLOT)]
        if rate * keep < 50:
            gone = now + keep + chance.expovariate(rate * math.exp(-rate * keep))
            if gone < until:
                until = gone
                has_answer[server] = False
        # A server that restarts has an empty cache.
        if server == 0 and now < server_away.start <= until:
            until = server_away.end
            has_answer[server] = False
        after = fleet.next_query(server, until, popularity, chance)
        if after is not None:
            heapq.heappush(queue, (after, server))


def main():
    o = options()
    outages = (Outage("server 1 restarts", 12, 12 + 1 / 3), Outage("Redis", 15, 15.25), Outage("upstreams", 17, 17 + 1 / 12))
    fleet = Fleet(o, outages[0])
    tally = Tally()
    chance = random.Random(o.seed + 1)
    peak_slot = max(range(SLOTS), key=lambda slot: sum(fleet.rate[s][slot] for s in fleet.servers))
    peak = sum(fleet.rate[s][peak_slot] for s in fleet.servers)
    names = list(sample(o))
    keep = keep_time(o, names, peak / o.servers)
    for popularity, weight in names:
        for ttl, part in TTLS:
            run_name(o, fleet, tally, outages, popularity, weight * part, ttl, keep, chance)
    for server in fleet.servers:
        for slot in range(SLOTS):
            tally.add("queries", slot * SLOT, fleet.rate[server][slot] * SLOT)
    report(o, fleet, tally, outages, peak, peak_slot, keep)


def report(o, fleet, tally, outages, peak, peak_slot, keep):
    queries = tally.sum("queries")

    def line(name, value, note=""):
        print(f"{name:<44} {value:>14}  {note}".rstrip())

    def clock(slot):
        return f"{slot * SLOT // 3_600:02}:{slot * SLOT % 3_600 // 60:02}"

    print(f"{o.clients:,} clients, {o.servers} servers, {o.names:,} names, one day, seed {o.seed}\n")
    line("questions", f"{queries:,.0f}")
    line("questions a second at the peak", f"{peak:,.0f}", f"at {clock(peak_slot)}; mean {queries / 86_400:,.0f}")
    line("  of one server", f"{peak / o.servers:,.0f}", f"{peak / o.servers / o.per_core:.1%} of a core at {o.per_core:,.0f}")
    misses, shared, upstream = tally.sum("misses"), tally.sum("shared"), tally.sum("upstream")
    line("answered from the server's cache", f"{1 - misses / queries:.2%}")
    line("  of the rest, from Redis", f"{shared / misses:.2%}")
    line("questions to upstreams", f"{upstream:,.0f}", f"{upstream / queries:.2%} of all")
    for what, name in [("upstream", "questions to upstreams a second, highest"), ("redis", "Redis operations a second, highest")]:
        rate, slot = tally.per_second(what)
        line(name, f"{rate:,.0f}", f"at {clock(slot)}; mean {tally.sum(what) / 86_400:,.0f}")
    line("a full cache keeps an unused name for", f"{keep / 60:,.0f} min" if keep < 800_000 else "ever", f"{o.cache:,} names")
    # A connection lives from its first question to the idle limit.
    visits = o.clients * o.visits / 86_400 * peak / (queries / 86_400)
    each = visits / o.clients * o.idle
    line("open connections of one server at the peak", f"{o.clients / o.servers * -math.expm1(-each):,.0f}", f"idle limit {o.idle:.0f} s")
    line("TLS handshakes a second of one server", f"{visits / o.servers * math.exp(-each):,.0f}")
    print("\nduring the failures, beside the hour before:")
    for outage in outages:
        during = range(outage.start // SLOT, max(outage.start // SLOT + 1, outage.end // SLOT))
        before = range(outage.start // SLOT - 12, outage.start // SLOT)

        def rate(what, slots):
            return tally.sum(what, slots) / (len(slots) * SLOT)
        minutes = (outage.end - outage.start) // 60
        stale, failed = (tally.sum(what, during) / max(1, tally.sum("queries", during)) for what in ("stale", "failed"))
        line(f"  {outage.what}, {minutes} min: questions to upstreams/s", f"{rate('upstream', during):,.0f}",
             f"before {rate('upstream', before):,.0f}" + (f"; {stale:.1%} get an expired answer, {failed:.1%} none" if stale else ""))
    restart = outages[0]
    slots = range(restart.end // SLOT, restart.end // SLOT + 2)
    line("  the 10 min after the restart", f"{tally.sum('upstream', slots) / (2 * SLOT):,.0f}")
    busiest = max(fleet.rate[s][slot] for s in fleet.servers for slot in range(SLOTS))
    line("questions a second of the busiest server", f"{busiest:,.0f}")


main()
