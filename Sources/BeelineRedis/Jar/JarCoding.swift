// SPDX-License-Identifier: Apache-2.0

#if Redis
import CookieJar

/// Turns changes into fields and records of the server, and back (``JarScripts``).
struct JarCoding: Sendable {
    /// The maximum size of a record in octets.
    static let maxRecord = JarRow.maxOctets + 128

    /// The place of the jar, which encryption authenticates with each record.
    let place: String
    /// Encrypts fields and payloads. Nil: both are plain.
    let cipher: JarCipher?

    /// The field of a cookie.
    func field(of key: CookieKey) -> [UInt8] {
        let octets = JarRow.write(key)
        return cipher?.digest(octets) ?? octets
    }

    /// The name of a login's lease.
    func label(of text: String) -> String {
        guard let cipher else { return text }
        return String(decoding: cipher.digest(Array("lease \(text)".utf8)), as: UTF8.self)
    }

    /// The field and record of a change. Nil for a cookie that a record cannot hold.
    func record(of entry: PendingChanges.Entry) -> (field: [UInt8], record: [UInt8])? {
        let isStored = entry.kind == .stored
        let key = CookieKey(entry.cookie)
        guard let row = JarRow.write(isStored ? entry.cookie : key.cookie) else { return nil }
        let field = field(of: key)
        let head = Array("\(entry.updated):\(isStored ? "c" : "d"):\(cipher == nil ? "p" : "e"):".utf8)
        guard let cipher else { return (field, head + row) }
        return cipher.seal(row, boundTo: bond(field, head)).map { (field, head + $0) }
    }

    /// Reads a record. Nil if it is malformed, or if it was written with another key, for another field or in another
    /// version.
    func update(field: [UInt8], record: [UInt8]) -> JarUpdate? {
        guard record.count <= Self.maxRecord, let colon = record.firstIndex(of: UInt8(ascii: ":")), colon <= 16,
            let version = Int64(String(decoding: record[..<colon], as: UTF8.self)),
            (1...JarUpdate.maxVersion).contains(version), record.count > colon + 5
        else { return nil }
        let head = Array(record[..<(colon + 5)])
        let form = "\(cipher == nil ? "p" : "e"):"
        let isStored: Bool
        switch String(decoding: head[(colon + 1)...], as: UTF8.self) {
        case "c:\(form)": isStored = true
        case "d:\(form)": isStored = false
        default: return nil
        }
        let payload = record[(colon + 5)...]
        let row = cipher.map { $0.open(payload, boundTo: bond(field, head)).map { $0[...] } } ?? payload
        guard let row, let cookie = JarRow.read(row) else { return nil }
        let key = CookieKey(cookie)
        guard self.field(of: key) == field else { return nil }
        return JarUpdate(key: key, version: version, cookie: isStored ? cookie : nil)
    }

    /// Whether a record says that its payload is encrypted.
    func isEncrypted(_ record: [UInt8]) -> Bool {
        let colon = UInt8(ascii: ":")
        let parts = record.prefix(24).split(separator: colon, maxSplits: 3, omittingEmptySubsequences: false)
        return parts.count == 4 && parts[2].elementsEqual("e".utf8)
    }

    /// A record is valid for one jar, field, version and kind only.
    private func bond(_ field: [UInt8], _ head: [UInt8]) -> [UInt8] { Array(place.utf8) + [0] + field + [0] + head }
}
#endif
