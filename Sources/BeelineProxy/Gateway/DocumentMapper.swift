// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// Maps the links of JSON documents that playlists refer to: the asset lists of interstitials and steering manifests
/// (draft-pantos-hls-rfc8216bis, "Interstitials" and §7 "Content Steering"; DASH uses the same steering format).
struct DocumentMapper {
    let links: GatewayLinks
    let base: HTTPURL
    /// The gateway's URL as the player knows it, `http://127.0.0.1:…`. Links in these documents become absolute URLs.
    let gateway: String

    /// The maximum number of JSON values in a document. An asset has about a dozen, or a hundred with tracking data.
    static let maxValues = 65_536

    /// The document with its links mapped; nil if it is not a JSON document of this kind.
    ///
    /// - Throws: ``MappingBudget/Fault`` if the document is a JSON object that cannot be read or grows too large, or the task is
    ///   cancelled.
    func mapped(_ document: [UInt8], as kind: PlaylistMapper.Kind) throws(MappingBudget.Fault) -> String? {
        var budget = MappingBudget()
        guard let value = JSONValue(document, limit: Self.maxValues) else {
            // Forwarding the document unchanged would show the player unmapped links.
            if Self.beginsObject(document) { throw .unreadable }
            return nil
        }
        guard case .object(var members) = value else { return nil }
        switch kind {
        case .assets:
            guard let assets = members["ASSETS"]?.array else { return nil }
            var mapped: [JSONValue] = []
            for asset in assets {
                let uri = try asset["URI"].map { uri throws(MappingBudget.Fault) in try link(uri, budget: &budget) }
                mapped.append(changed(asset, member: "URI", to: uri))
            }
            members["ASSETS"] = .array(mapped)
        case .steering:
            if let reload = members["RELOAD-URI"] {
                members["RELOAD-URI"] = try link(reload, as: .steering, budget: &budget)
            }
            if let clones = members["PATHWAY-CLONES"]?.array {
                var mapped: [JSONValue] = []
                for value in clones {
                    if let clone = try clone(value, budget: &budget) { mapped.append(clone) }
                }
                members["PATHWAY-CLONES"] = .array(mapped)
            }
        case .hls, .dash: return nil
        }
        return JSONValue.object(members).text
    }

    /// Whether the first character is the start of a JSON object, in UTF-8 or UTF-16.
    private static func beginsObject(_ document: [UInt8]) -> Bool {
        let blanks: [UInt8] = [0, 0x09, 0x0a, 0x0d, 0x20]
        let byteOrderMarks: [UInt8] = [0xef, 0xbb, 0xbf, 0xfe, 0xff]
        return document.first { !blanks.contains($0) && !byteOrderMarks.contains($0) } == UInt8(ascii: "{")
    }

    private func link(
        _ value: JSONValue,
        as kind: PlaylistMapper.Kind? = nil,
        budget: inout MappingBudget
    ) throws(MappingBudget.Fault) -> JSONValue {
        // A relative link becomes as long as its base.
        try budget.take(base.target.utf8.count + gateway.utf8.count)
        guard let text = value.string, let url = try? base.resolving(text), let path = links.path(for: url, as: kind)
        else { return value }
        return .string(gateway + path)
    }

    /// A pathway clone with URIs that stay at the gateway: its host becomes a query parameter, which the gateway reads.
    /// Nil if the clone also has its own URIs. Players would add the parameter to them too, so such clones are removed.
    private func clone(_ value: JSONValue, budget: inout MappingBudget) throws(MappingBudget.Fault) -> JSONValue? {
        guard case .object(var rules)? = value["URI-REPLACEMENT"] else { return value }
        let lists = ["PER-VARIANT-URIS", "PER-RENDITION-URIS"]
        if let host = rules.removeValue(forKey: "HOST")?.string {
            guard !lists.contains(where: { rules[$0]?.object?.isEmpty == false }) else { return nil }
            var parameters = rules["PARAMS"]?.object ?? [:]
            parameters[GatewayLinks.hostParameter] = .string(host)
            rules["PARAMS"] = .object(parameters)
        }
        for list in lists {
            guard var uris = rules[list]?.object else { continue }
            for (name, uri) in uris { uris[name] = try link(uri, budget: &budget) }
            rules[list] = .object(uris)
        }
        return changed(value, member: "URI-REPLACEMENT", to: .object(rules))
    }

    /// The object with a changed member; unchanged if `new` is nil.
    private func changed(_ value: JSONValue, member name: String, to new: JSONValue?) -> JSONValue {
        guard case .object(var members) = value, let new else { return value }
        members[name] = new
        return .object(members)
    }
}
