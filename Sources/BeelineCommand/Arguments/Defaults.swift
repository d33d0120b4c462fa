// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Settings from the environment and the configuration file. The command line overrides them.
struct Defaults: Hashable, Sendable {
    /// The process's environment.
    var environment: [String: String] = [:]
    /// Upstreams in the form of `--dns`; empty uses the library's defaults.
    var dns: [String] = []
    /// The place of ``dns``, for errors: the variable, or the file with its key.
    var dnsPlace = "BEELINE_DNS"
    /// The folder that relative paths in ``dns`` start from; nil is the current folder.
    var dnsFolder: String?
    /// Value of `--jar`.
    var jar: String?
    /// Values of `--cacert`.
    var cacert: [String] = []
    /// Value of `--proxy`.
    var proxy: String?
    /// Value of `--noproxy`.
    var noproxy: String?
    /// Value of `--user-agent`.
    var userAgent: String?
    /// False has the effect of `--no-httpdns`.
    var httpdns = true
    /// True has the effect of `--allow-local-answers`.
    var allowsLocalAnswers = false
    /// Value of `--connect-timeout`, in seconds.
    var connectTimeout: Double?
    /// Value of `--max-time`, in seconds.
    var maxTime: Double?

    /// Reads `BEELINE_DNS`, `BEELINE_JAR` and `$XDG_CONFIG_HOME/beeline/config.json`.
    ///
    /// - Throws: ``CommandFailure`` if the configuration file is invalid or may not be read.
    static func load(
        environment: [String: String] = ProcessInfo.processInfo.environment,
        files: InputFiles = .real
    ) throws(CommandFailure) -> Defaults {
        var defaults = Defaults()
        if let path = usablePath("config.json", environment, files: files) {
            if files.size(path) != nil {
                defaults = try ConfigurationFile(parsing: files.read(path), path: path).defaults
            } else if files.isFolder(path) {
                throw CommandFailure(.readFailed, "the configuration file \(path) is a folder")
            } else if files.isHidden(path) {
                throw CommandFailure(
                    .readFailed,
                    "the configuration file \(path) cannot be reached: you may not search its folder; change the folder's "
                        + "permissions, or set XDG_CONFIG_HOME to another folder"
                )
            }
        }
        defaults.environment = environment
        if let specs = environment["BEELINE_DNS"]?.split(separator: " "), !specs.isEmpty {
            defaults.dns = specs.map(String.init)
            (defaults.dnsPlace, defaults.dnsFolder) = ("BEELINE_DNS", nil)
        }
        if let jar = environment["BEELINE_JAR"], !jar.isEmpty { defaults.jar = jar }
        return defaults
    }

    /// The path of a file in the command's configuration folder; nil if this user may not read it below the `HOME` of another
    /// user, which programs such as setpriv keep. It has no settings of this user.
    static func usablePath(
        _ name: String,
        _ environment: [String: String],
        files: InputFiles = .real
    ) -> String? {
        guard let path = path(name, environment) else { return nil }
        let isChosen = environment["XDG_CONFIG_HOME"]?.hasPrefix("/") ?? false
        let isOfOtherUser = !isChosen && environment["HOME"].map(files.isOfOtherUser) ?? false
        return isOfOtherUser && files.isHidden(path) ? nil : path
    }

    /// The path of a file in the command's configuration folder. Ignores a relative `XDG_CONFIG_HOME` (XDG Base Directory
    /// Specification).
    static func path(_ name: String, _ environment: [String: String]) -> String? {
        if let base = environment["XDG_CONFIG_HOME"], base.hasPrefix("/") { return "\(base)/beeline/\(name)" }
        return environment["HOME"].flatMap { $0.isEmpty ? nil : "\($0)/.config/beeline/\(name)" }
    }
}

/// The configuration file: a JSON object with the keys of ``Key``, all of them optional.
struct ConfigurationFile: Decodable {
    /// The keys of the file, named like the options.
    enum Key: String, CodingKey, CaseIterable {
        case dns, jar, cacert, proxy, noproxy, httpdns
        case userAgent = "user-agent"
        case allowsLocalAnswers = "allow-local-answers"
        case connectTimeout = "connect-timeout"
        case maxTime = "max-time"

        /// What to write as the value.
        fileprivate var form: String {
            switch self {
            case .dns: "a SPEC or an array of them"
            case .jar: "a path, or the URL of a jar on a server"
            case .cacert: "a path or an array of them"
            case .proxy, .noproxy, .userAgent: "a text"
            case .httpdns, .allowsLocalAnswers: "true or false"
            case .connectTimeout, .maxTime: "a number of seconds"
            }
        }
    }

    private(set) var defaults = Defaults()

    /// Parses a configuration file. Relative paths in it start from its folder.
    init(parsing bytes: [UInt8], path: String) throws(CommandFailure) {
        do {
            self = try JSONDecoder().decode(ConfigurationFile.self, from: Data(bytes))
        } catch {
            throw CommandFailure(.usage, "the configuration file \(path) cannot be used: \(Self.explain(error))")
        }
        let folder = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        let absolute = { (file: String) in file.hasPrefix("/") ? file : "\(folder)/\(file)" }
        defaults.jar = defaults.jar.map { JarFile.isURL($0) ? $0 : absolute($0) }
        defaults.cacert = defaults.cacert.map(absolute)
        if !defaults.dns.isEmpty { (defaults.dnsPlace, defaults.dnsFolder) = ("\(path): dns", folder) }
        // Errors after this would name options that the user did not write.
        _ = try Duration(seconds: defaults.connectTimeout, option: "\(path): connect-timeout")
        _ = try Duration(seconds: defaults.maxTime, option: "\(path): max-time")
    }

    init(from decoder: any Decoder) throws {
        let all = try decoder.container(keyedBy: AnyKey.self)
        let known = Key.allCases.map(\.rawValue)
        if let unknown = all.allKeys.first(where: { !known.contains($0.stringValue) }) {
            throw DecodingError.dataCorruptedError(
                forKey: unknown,
                in: all,
                debugDescription: "unknown key \"\(unknown.stringValue)\"; use one of \(known.joined(separator: ", "))"
            )
        }
        let values = try decoder.container(keyedBy: Key.self)
        defaults.dns = try values.list(.dns)
        defaults.cacert = try values.list(.cacert)
        defaults.jar = try values.decodeIfPresent(String.self, forKey: .jar)
        defaults.proxy = try values.decodeIfPresent(String.self, forKey: .proxy)
        defaults.noproxy = try values.decodeIfPresent(String.self, forKey: .noproxy)
        defaults.userAgent = try values.decodeIfPresent(String.self, forKey: .userAgent)
        defaults.httpdns = try values.decodeIfPresent(Bool.self, forKey: .httpdns) ?? true
        defaults.allowsLocalAnswers = try values.decodeIfPresent(Bool.self, forKey: .allowsLocalAnswers) ?? false
        defaults.connectTimeout = try values.decodeIfPresent(Double.self, forKey: .connectTimeout)
        defaults.maxTime = try values.decodeIfPresent(Double.self, forKey: .maxTime)
    }

    private static func explain(_ error: any Error) -> String {
        guard let error = error as? DecodingError else { return "\(error)" }
        switch error {
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            guard let key = context.codingPath.first?.stringValue else { return "it is not a JSON object" }
            return "\(key): write \(Key(rawValue: key)?.form ?? "another value")"
        case .dataCorrupted(let context):
            return context.codingPath.isEmpty ? "it is not JSON" : context.debugDescription
        default: return "\(error)"
        }
    }

    private struct AnyKey: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

extension KeyedDecodingContainer<ConfigurationFile.Key> {
    /// Decodes a list, or a single string as a list of one.
    fileprivate func list(_ key: Key) throws -> [String] {
        guard contains(key) else { return [] }
        if let one = try? decode(String.self, forKey: key) { return [one] }
        return try decode([String].self, forKey: key)
    }
}
