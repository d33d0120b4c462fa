#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a workload for the cookie benchmarks to standard output: cookie-workload.py COOKIES DOMAINS

Lines, tab separated: `M` and facts in JSON, `F` URL Set-Cookie (to fill the jar), `L` URL (to look up), `S` URL Set-Cookie (to store into
the full jar: half new, half in the place of another). The same arguments give the same octets.
"""
import json, random, sys

cookies, domains = int(sys.argv[1]), int(sys.argv[2])
chance = random.Random(f"{cookies}/{domains}")
SUFFIXES = ["com", "com", "com", "net", "org", "cn", "com.cn", "co.uk", "dev"]
PATHS = ["/", "/account", "/account/orders", "/shop/cart", "/api/v1/items"]
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


def word(low, high):
    return "".join(chance.choice(LETTERS) for _ in range(chance.randint(low, high)))


sites = [f"{word(5, 12)}-{number}.{chance.choice(SUFFIXES)}" for number in range(domains)]


def cookie(number):
    site = sites[number % domains]
    host = chance.choice(["www.", "api.", "m."]) + site
    attributes = chance.choice([f"; Domain={site}; Path=/", "; Path=/", "", "; Path=" + chance.choice(PATHS)])
    attributes += chance.choice(["", "; Secure", "; Secure; HttpOnly; SameSite=Lax"])
    attributes += chance.choice(["", "; Max-Age=31536000", "; Expires=Wed, 09 Jan 2036 10:18:14 GMT"])
    return f"https://{host}{chance.choice(PATHS)}", f"n{number}={word(8, 60)}{attributes}"


print("M\t" + json.dumps({"name": f"{cookies}-cookies-{domains}-domains", "verify": 0}))
filled = [cookie(number) for number in range(cookies)]
for url, field in filled:
    print(f"F\t{url}\t{field}")
for _ in range(20000):
    print(f"L\t{chance.choice(filled)[0]}{chance.choice(['', '?q=' + word(3, 9)])}")
for number in range(min(cookies, 2000)):
    if number % 2:
        url, field = cookie(cookies + number)
    else:
        url, field = chance.choice(filled)
    print(f"S\t{url}\t{field}")
