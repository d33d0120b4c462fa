// SPDX-License-Identifier: Apache-2.0

import HTTPDNS

/// The records of a master file (RFC 1035 §5). Supports `$ORIGIN`, `$TTL` (RFC 2308 §4), `$INCLUDE`, `@`, relative names,
/// repeated owners, times such as `1h30m`, the types A, AAAA, CAA, CNAME, HTTPS, MX, NS, PTR, SOA, SRV, SVCB and TXT, and any
/// type as `TYPEnn \# …` (RFC 3597).
struct ZoneFile {
    /// The maximum size in octets, including the included files.
    static let maxOctets = 64 << 20
    /// The maximum depth of nested includes.
    static let maxDepth = 8
    /// The maximum number of includes. A file that is included twice counts twice.
    static let maxIncludes = 1_000

    /// The records, without duplicates.
    let records: [DNSRecord]
    /// The owner of the SOA record.
    let apex: DNSName

    /// Parses the octets of a file.
    ///
    /// - Parameters:
    ///   - path: The path of the file. Paths of included files are relative to its folder.
    ///   - open: Reads an included file.
    /// - Throws: ``ServerError`` with code `badZone` and the line's number.
    init(
        parsing octets: [UInt8],
        at path: String = "",
        including open: @escaping (_ path: String) -> Result<[UInt8], UnreadableFile> = { _ in
            .failure(UnreadableFile(reason: "cannot be read"))
        }
    ) throws(ServerError) {
        var reader = ZoneReader(open: open)
        try reader.read(octets, path, depth: 0)
        guard let apex = reader.apex else {
            throw ServerError(.badZone, "the file has no SOA record, which defines the zone")
        }
        self.apex = apex
        records = Self.distinct(reader.records)
        if let stranger = records.first(where: { !$0.name.isAtOrBelow(apex) }) {
            throw ServerError(.badZone, "\(stranger.name) is not in the zone \(apex)")
        }
        if let name = Self.badAlias(records) {
            throw ServerError(.badZone, "\(name) has a CNAME and other records: an alias has no other records")
        }
    }

    /// Removes duplicates, which differ in TTL at most (RFC 2181 §5).
    private static func distinct(_ records: [DNSRecord]) -> [DNSRecord] {
        var (records, seen) = (records, Set<DNSRecord>())
        records.equalizeTTLs()
        return records.filter { seen.insert($0).inserted }
    }

    /// A name that has a CNAME and other records (RFC 1034 §3.6.2). KEY, RRSIG and NSEC are allowed (RFC 4034 §3, §4).
    private static func badAlias(_ records: [DNSRecord]) -> DNSName? {
        var aliases: Set<DNSName> = []
        for record in records {
            guard case .alias = record.data else { continue }
            if !aliases.insert(record.name).inserted { return record.name }
        }
        guard !aliases.isEmpty else { return nil }
        return records.first { record in
            ![5, 25, 46, 47].contains(record.type.rawValue) && aliases.contains(record.name)
        }?.name
    }
}

/// Reads entries in order, because some entries set defaults for the following ones.
private struct ZoneReader {
    let open: (_ path: String) -> Result<[UInt8], UnreadableFile>
    private(set) var records: [DNSRecord] = []
    private(set) var apex: DNSName?
    private var octetsRead = 0
    private var filesIncluded = 0
    private var origin: DNSName?
    private var defaultTTL: UInt32?
    private var owner: DNSName?
    private var lastTTL: UInt32?

    init(open: @escaping (_ path: String) -> Result<[UInt8], UnreadableFile>) { self.open = open }

    mutating func read(_ octets: [UInt8], _ path: String, depth: Int) throws(ServerError) {
        octetsRead += octets.count
        guard octetsRead <= ZoneFile.maxOctets else {
            throw ServerError(.badZone, "it has more than \(ZoneFile.maxOctets >> 20) MiB")
        }
        for entry in try ZoneText(octets).entries {
            guard let first = entry.words.first else { continue }
            if !first.isQuoted, first.octets.first == 0x24 {
                try readDirective(entry, path: path, depth: depth)
                continue
            }
            let record = try record(entry)
            if case .authority = record.data {
                guard apex == nil else { throw ZoneText.error(entry.line, "a second SOA: a file holds one zone") }
                apex = record.name
            }
            records.append(record)
        }
    }

    private mutating func record(_ entry: ZoneText.Entry) throws(ServerError) -> DNSRecord {
        var words = entry.words[...]
        if !entry.repeatsOwner, let first = words.popFirst() { owner = try first.name(from: origin, entry.line) }
        guard let owner else { throw ZoneText.error(entry.line, "the first record has no owner") }
        var ttl: UInt32?
        var type: DNSType?
        while type == nil {
            guard let word = words.popFirst() else { throw ZoneText.error(entry.line, "the record has no type") }
            let text = word.text.uppercased()
            if let time = word.seconds, ttl == nil {
                ttl = time
            } else if text == "IN" || text == "CLASS1" {
                continue
            } else if let known = Self.type(text) {
                type = known
            } else {
                throw ZoneText.error(
                    entry.line,
                    "the type \"\(word.text)\" is unknown: write it as TYPEnn \\# LENGTH HEX"
                )
            }
        }
        let content = ZoneContent(type: type ?? .a, words: Array(words), line: entry.line, origin: origin)
        let data = try content.read()
        if let ttl { lastTTL = ttl }
        // If the file sets no TTL, the MINIMUM of the SOA is the default (RFC 1035 §3.3.13 before RFC 2308 changed it).
        if case .authority(let soa) = data, ttl == nil, defaultTTL == nil { defaultTTL = soa.minimum }
        guard let time = ttl ?? defaultTTL ?? lastTTL else {
            throw ZoneText.error(entry.line, "there is no TTL: write $TTL 3600 at the top")
        }
        return DNSRecord(owner, ttl: min(time, UInt32(Int32.max)), data)
    }

    /// The type with a name or number. Nil for query types and meta-types (RFC 6895 §3.1), which a zone cannot contain.
    private static func type(_ text: String) -> DNSType? {
        guard text.first?.isLetter ?? false, let type = DNSType(label: text) else { return nil }
        return type.rawValue == 0 || type == .opt || (128...255).contains(type.rawValue) ? nil : type
    }

    // MARK: Directives

    private mutating func readDirective(_ entry: ZoneText.Entry, path: String, depth: Int) throws(ServerError) {
        let words = entry.words
        switch (words[0].text.uppercased(), words.count) {
        case ("$ORIGIN", 2): origin = try words[1].name(from: origin, entry.line)
        case ("$TTL", 2):
            guard let time = words[1].seconds else {
                throw ZoneText.error(entry.line, "\"\(words[1].text)\" is not a time")
            }
            defaultTTL = time
        case ("$INCLUDE", 2), ("$INCLUDE", 3): try include(entry, path: path, depth: depth)
        default: throw ZoneText.error(entry.line, "\(words[0].text) is not supported")
        }
    }

    /// `$INCLUDE FILE [ORIGIN]`. Restores the origin and the owner after the included file (RFC 1035 §5.1).
    private mutating func include(_ entry: ZoneText.Entry, path: String, depth: Int) throws(ServerError) {
        filesIncluded += 1
        guard depth < ZoneFile.maxDepth, filesIncluded <= ZoneFile.maxIncludes else {
            throw ZoneText.error(
                entry.line,
                "more than \(ZoneFile.maxIncludes) files are included, or more than \(ZoneFile.maxDepth) in one another"
            )
        }
        let text = entry.words[1].text
        let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
        let file = text.hasPrefix("/") ? text : folder + text
        let octets: [UInt8]
        do throws(UnreadableFile) {
            octets = try open(file).get()
        } catch {
            throw ZoneText.error(entry.line, "\(file) \(error.reason)")
        }
        let (outerOrigin, outerOwner) = (origin, owner)
        if entry.words.count == 3 { origin = try entry.words[2].name(from: origin, entry.line) }
        do throws(ServerError) {
            try read(octets, file, depth: depth + 1)
        } catch {
            throw ZoneText.error(entry.line, "in \(file), \(error.message)")
        }
        (origin, owner) = (outerOrigin, outerOwner)
    }
}
