// SPDX-License-Identifier: Apache-2.0

import Names

/// Cookies handed over as values.
extension CookieStore {
    /// Puts in a cookie that is not from a response.
    mutating func insert(_ cookie: Cookie, isOfThisSession: Bool, now: CookieTime) -> CookieOutcome {
        let limit = now.advanced(bySeconds: configuration.maximumAge.components.seconds)
        return cookie.withReceived(isOfThisSession: isOfThisSession, expiryLimit: limit) { received, partition in
            do throws(CookieRejection) {
                try received.checkValue(
                    isPartitioned: !partition.isEmpty,
                    acceptsInsecureNone: configuration.acceptsInsecureSameSiteNone
                )
                return try insert(received, partition: partition, api: .http, now: now)
            } catch {
                return .rejected(error)
            }
        }
    }

    /// The cookie of this cookie's name, domain, host-only flag, path and partition.
    func cookie(like cookie: Cookie, at now: CookieTime) -> Cookie? {
        cookie.withReceived { received, partition in
            guard let number = table.find(received.domain, partition), let bucket = table.buckets[number],
                let index = bucket.find(name: received.name, path: received.path, isHostOnly: received.isHostOnly),
                !bucket.records[index].isExpired(at: now.microseconds)
            else { return nil }
            return Cookie(at: index, of: bucket)
        }
    }

    /// Whether the session that runs stored the cookie of this cookie's name, domain, host-only flag, path and partition.
    func isOfThisSession(_ cookie: Cookie) -> Bool {
        cookie.withReceived { received, partition in
            guard let number = table.find(received.domain, partition), let bucket = table.buckets[number],
                let index = bucket.find(name: received.name, path: received.path, isHostOnly: received.isHostOnly)
            else { return false }
            return bucket.records[index].flags.contains(.ofThisSession)
        }
    }

    /// Takes out the cookie of this cookie's name, domain, host-only flag, path and partition.
    mutating func remove(_ cookie: Cookie) -> Bool {
        cookie.withReceived { received, partition in
            guard let number = table.find(received.domain, partition),
                let index = table.buckets[number]?.find(
                    name: received.name,
                    path: received.path,
                    isHostOnly: received.isHostOnly
                )
            else { return false }
            remove(index, of: number, cause: .explicit)
            table.removeIfEmpty(number)
            return true
        }
    }
}

extension Cookie {
    /// Calls `body` with the octets of the cookie's parts, and those of its partition.
    fileprivate func withReceived<Result>(
        isOfThisSession: Bool = true,
        expiryLimit: CookieTime = .distantFuture,
        _ body: (ReceivedCookie, _ partition: Octets) -> Result
    ) -> Result {
        nameOctets.withUnsafeBufferPointer { name in
            valueOctets.withUnsafeBufferPointer { value in
                domain.withOctets { domain in
                    path.withOctets { path in
                        (partition?.description ?? "").withOctets { partition in
                            body(
                                ReceivedCookie(
                                    name: name,
                                    value: value,
                                    domain: domain,
                                    path: path,
                                    isHostOnly: isHostOnly,
                                    expires: expires.map { min($0, expiryLimit) },
                                    isSecure: isSecure,
                                    isHTTPOnly: isHTTPOnly,
                                    sameSite: sameSite,
                                    created: created == .distantPast ? nil : created,
                                    accessed: lastAccessed == .distantPast ? nil : lastAccessed,
                                    isOfThisSession: isOfThisSession
                                ),
                                partition
                            )
                        }
                    }
                }
            }
        }
    }
}
