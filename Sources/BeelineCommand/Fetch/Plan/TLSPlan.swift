// SPDX-License-Identifier: Apache-2.0

import Beeline
import Names

extension TLSSettings {
    /// Makes the settings from options.
    ///
    /// - Parameters:
    ///   - base: the settings that the options change.
    ///   - option: the prefix of the options' names in messages, empty or `proxy-`.
    init(
        _ values: TLSValues,
        over base: TLSSettings,
        option: String = "",
        _ files: InputFiles
    ) throws(CommandFailure) {
        self = base
        verifiesCertificate = !values.insecure
        resumesSessions = values.resumesSessions
        for path in values.rootFiles { try trust(path, option: "--\(option)cacert", files) }
        for folder in values.rootFolders {
            guard files.isFolder(folder) else {
                throw CommandFailure(.unreadableRoots, "--\(option)capath: \(folder) is not a folder")
            }
            rootFolders.append(folder)
        }
        if let cert = values.cert { identity = try Self.identity(cert, values: values, option: option, files: files) }
        if let text = values.pins { pins = [PinnedHost(nil, pins: try Self.pins(text, option: option, files: files))] }
        if let version = values.minVersion { minVersion = version }
        maxVersion = try values.maxVersion.flatMap { text throws(CommandFailure) in try Self.version(text) }
        // As in curl, a lower maximum lowers the default minimum.
        if let maxVersion, values.minVersion == nil { minVersion = min(minVersion, maxVersion) }
        if let maxVersion, maxVersion < minVersion {
            throw CommandFailure(.usage, "--tls-max is lower than the minimum version of TLS")
        }
        cipherSuites = try values.ciphers.map { text throws(CommandFailure) in try Self.suites(text) } ?? []
        for text in values.ech { try setECH(text, files) }
        groups = try values.groups.map { text throws(CommandFailure) in try Self.groups(text) } ?? []
    }

    /// The settings without those that are for origins only.
    var withoutIdentity: TLSSettings {
        var settings = self
        settings.verifiesCertificate = true
        settings.identity = nil
        settings.pins = []
        return settings
    }

    /// Adds the roots of a PEM file.
    mutating func trust(_ path: String, option: String, _ files: InputFiles) throws(CommandFailure) {
        let text: String
        do {
            text = try files.asciiText(path)
        } catch {
            throw CommandFailure(.unreadableRoots, "\(option): \(error.message)")
        }
        guard text.contains("-----BEGIN CERTIFICATE-----") else {
            throw CommandFailure(.unreadableRoots, "\(option): \(path) has no certificate in PEM form")
        }
        // A pipe cannot be read again for the first connection.
        if files.isPipe(path) { rootPEMs.append(text) } else { rootFiles.append(path) }
    }

    /// Parses `--cert`, `--key` and related options. Without `--key`, the certificate's file has the key.
    private static func identity(
        _ cert: String,
        values: TLSValues,
        option: String,
        files: InputFiles
    ) throws(CommandFailure) -> ClientIdentity {
        let (path, secret) = splitCert(cert)
        let chain = try source(path, type: values.certType, option: "--\(option)cert-type", files)
        let key = try values.key.map { key throws(CommandFailure) in
            try source(key, type: values.keyType, option: "--\(option)key-type", files)
        }
        let identity = ClientIdentity(chain: chain, key: key ?? chain, passphrase: values.passphrase ?? secret)
        do throws(DirectHTTPError) {
            try identity.check()
        } catch {
            throw CommandFailure(.unusableCertificate, "--\(option)cert: \(error.message)")
        }
        return identity
    }

    /// Splits `FILE[:PASSPHRASE]`. `\:` and `\\` are ordinary characters of the file's name.
    static func splitCert(_ text: String) -> (path: String, passphrase: String?) {
        var path = ""
        var rest = text[...]
        while let character = rest.popFirst() {
            switch character {
            case "\\" where rest.first == ":" || rest.first == "\\" || rest.first == "\"":
                path.append(rest.removeFirst())
            case ":": return (path, String(rest))
            default: path.append(character)
            }
        }
        return (path, nil)
    }

    private static func source(
        _ path: String,
        type: String?,
        option: String,
        _ files: InputFiles
    ) throws(CommandFailure) -> ClientIdentity.Source {
        do throws(CommandFailure) {
            switch (type ?? "PEM").uppercased() {
            case "PEM":
                let bytes = try files.read(path)
                return files.isPipe(path) ? .pem(String(decoding: bytes, as: UTF8.self)) : .pemFile(path)
            case "DER": return .der(try files.read(path))
            default:
                throw CommandFailure(
                    .usage,
                    "\(option): only PEM and DER are supported; convert other files with openssl"
                )
            }
        } catch {
            guard error.status == .readFailed else { throw error }
            throw CommandFailure(.unusableCertificate, "the client certificate cannot be read: \(error.message)")
        }
    }

    /// Parses `sha256//HASH;sha256//HASH`, or reads a public key from a file in PEM or DER form.
    private static func pins(
        _ text: String,
        option: String,
        files: InputFiles
    ) throws(CommandFailure) -> Set<PublicKeyPin> {
        if text.hasPrefix("sha256//") {
            var pins: Set<PublicKeyPin> = []
            for item in text.split(separator: ";") {
                guard let pin = PublicKeyPin(item) else {
                    throw CommandFailure(
                        .pinMismatch,
                        "--\(option)pinnedpubkey: \"\(item)\" is not sha256//BASE64 of 32 bytes"
                    )
                }
                pins.insert(pin)
            }
            return pins
        }
        let bytes: [UInt8]
        do {
            bytes = try files.read(text)
        } catch {
            throw CommandFailure(.pinMismatch, "--\(option)pinnedpubkey: \(error.message)")
        }
        let lines = String(decoding: bytes, as: UTF8.self)
        let begin = "-----BEGIN PUBLIC KEY-----"
        let end = "-----END PUBLIC KEY-----"
        guard let start = lines.firstRange(of: begin) else { return [PublicKeyPin(publicKey: bytes)] }
        let rest = lines[start.upperBound...]
        let body = rest[..<(rest.firstRange(of: end)?.lowerBound ?? rest.endIndex)].filter { !$0.isWhitespace }
        guard let key = Base64.decodePadded(body) else {
            throw CommandFailure(.pinMismatch, "--\(option)pinnedpubkey: \(text) is not a public key in PEM form")
        }
        return [PublicKeyPin(publicKey: key)]
    }

    private static func version(_ text: String) throws(CommandFailure) -> Version? {
        switch text {
        case "default": nil
        case "1.0": .tls10
        case "1.1": .tls11
        case "1.2": .tls12
        case "1.3": .tls13
        default: throw CommandFailure(.usage, "--tls-max \(text): write 1.0, 1.1, 1.2, 1.3 or default")
        }
    }

    /// Parses a list of cipher suites. As in curl, unknown suites are ignored if one is known.
    private static func suites(_ text: String) throws(CommandFailure) -> [CipherSuite] {
        let known = text.split { ":, ".contains($0) }.compactMap { CipherSuite(rawValue: $0.uppercased()) }
        guard !known.isEmpty else {
            let all = CipherSuite.allCases.map(\.rawValue).joined(separator: ":")
            throw CommandFailure(.unknownCipher, "--ciphers: none of them is supported; supported are \(all)")
        }
        return known
    }

    private static func groups(_ text: String) throws(CommandFailure) -> [Group] {
        let others = ["PRIME256V1": Group.p256, "SECP256R1": .p256, "SECP384R1": .p384, "SECP521R1": .p521]
        return try text.split(separator: ":").map { name throws(CommandFailure) in
            let name = name.uppercased()
            guard let group = Group.allCases.first(where: { $0.rawValue.uppercased() == name }) ?? others[name] else {
                let known = Group.allCases.map(\.rawValue).joined(separator: ", ")
                throw CommandFailure(.usage, "--curves \(name): write one of \(known)")
            }
            return group
        }
    }
}
