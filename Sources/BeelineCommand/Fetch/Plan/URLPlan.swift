// SPDX-License-Identifier: Apache-2.0

import Names

/// Makes the URL of a transfer from an argument, as curl does.
struct URLPlan: Hashable, Sendable {
    /// The scheme of arguments without one.
    var defaultScheme = "http"
    /// The schemes that `--proto` allows.
    var schemes = SchemeList.all
    /// `--path-as-is`.
    var keepsDots = false
    /// `--disallow-username-in-url`.
    var forbidsUser = false
    /// The text to append to the query, from `-G` and `--url-query`; nil for none.
    var query: String?

    /// - Parameter data: the text of `-G` to append to the query.
    init(_ arguments: FetchArguments, data: String?, files: InputFiles) throws(CommandFailure) {
        if let scheme = arguments.redirect.defaultScheme {
            guard let known = Scheme(scheme.lowercased()), SchemeList.all.contains(known) else {
                throw CommandFailure(
                    .unsupportedProtocol,
                    "--proto-default \(scheme): only http and https are supported"
                )
            }
            defaultScheme = known.name
        }
        schemes = arguments.redirect.allowedSchemes
        keepsDots = arguments.message.keepsDots
        forbidsUser = arguments.redirect.forbidsUser
        var parts = try arguments.message.query.map { piece throws(CommandFailure) in
            Self.withUpperCase(PercentEncoding.urlText(try piece.bytes(files)))
        }
        if let data { parts.append(data) }
        query = parts.isEmpty ? nil : parts.joined(separator: "&")
    }

    /// Parses an argument. `-T` appends the file's name to a path that ends in a slash.
    ///
    /// - Parameter upload: the file of `-T`; nil without one.
    /// - Throws: ``CommandFailure`` with curl's exit code.
    func url(_ argument: String, upload: String?) throws(CommandFailure) -> HTTPURL {
        let absolute = argument.hasScheme ? argument : "\(defaultScheme)://\(argument)"
        var text = Self.withSlashes(argument) ?? absolute
        if let query, !query.isEmpty {
            let fragment = text.unicodeScalars.firstIndex(of: "#") ?? text.endIndex
            let head = text[..<fragment]
            let hasQuery = head.cut(atFirst: "?") != nil
            let separator = !hasQuery ? "?" : head.hasSuffix("?") || head.hasSuffix("&") ? "" : "&"
            text = head + separator + query + text[fragment...]
        }
        let url = try url(of: text, upload: upload)
        guard !forbidsUser || url.user == nil && url.password == nil else {
            throw CommandFailure(
                .loginDenied,
                "\(url.origin.serialized): its URL has a user name, which --disallow-username-in-url does not allow"
            )
        }
        return url
    }

    private func url(of text: String, upload: String?) throws(CommandFailure) -> HTTPURL {
        do throws(NameError) {
            var url = try HTTPURL(text, keepsDotSegments: keepsDots)
            guard schemes.contains(url.origin.scheme) else {
                throw NameError(
                    .unsupportedScheme,
                    SchemeList.all.contains(url.origin.scheme)
                        ? "\(url): --proto does not allow this scheme" : "\(url): only http and https are supported"
                )
            }
            if let upload, upload != "-", upload != ".", url.path.hasSuffix("/"), url.query == nil {
                let end = text.unicodeScalars.firstIndex { $0 == "?" || $0 == "#" } ?? text.endIndex
                let slash = text[..<end].hasSuffix("/") ? "" : "/"
                let name = PercentEncoding.encode(upload.fileName, keeping: .unreserved)
                let completed = text[..<end] + slash + name + text[end...]
                url = try HTTPURL(String(completed), keepsDotSegments: keepsDots)
            }
            return url
        } catch {
            throw CommandFailure(url: error)
        }
    }

    /// Corrects one or three slashes after the scheme to two; nil for other texts.
    private static func withSlashes(_ text: String) -> String? {
        guard let colon = text.firstIndex(of: ":"),
            SchemeList.all.contains(where: { $0.name == text[..<colon].lowercased() })
        else { return nil }
        let rest = text[text.index(after: colon)...]
        let slashes = rest.prefix { $0 == "/" }
        guard slashes.count == 1 || slashes.count == 3 else { return nil }
        return text[...colon] + "//" + rest[slashes.endIndex...]
    }

    /// The text with its percent-encoded octets in upper case, as in curl (RFC 3986 §6.2.2.1).
    private static func withUpperCase(_ text: String) -> String {
        var digits = 0
        return String(
            text.map { character in
                if character == "%" { digits = 3 }
                digits -= 1
                return digits >= 0 && character.isHexDigit ? Character(character.uppercased()) : character
            }
        )
    }
}
