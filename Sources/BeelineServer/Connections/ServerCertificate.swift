// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import NIOCore
import NIOSSL

/// The certificate of a server and its key, read again when their files change. Nil without TLS.
typealias ServerCertificate = ReloadedFiles<NIOSSLContext?>

extension ReloadedFiles where Content == NIOSSLContext? {
    /// - Parameters:
    ///   - files: Nil without TLS.
    ///   - protocols: The protocols to offer (ALPN).
    /// - Throws: ``ServerError`` with code `badCertificate`.
    convenience init(_ files: ServerConfiguration.TLSFiles?, protocols: [String]) throws(ServerError) {
        try self.init(files.map { [$0.certificate, $0.key] } ?? [], retries: true) { () throws(ServerError) in
            try serverContext(files, protocols: protocols)
        }
    }

    /// The TLS context for new connections. Nil for cleartext.
    var context: NIOSSLContext? { content }
}

private func serverContext(
    _ files: ServerConfiguration.TLSFiles?,
    protocols: [String]
) throws(ServerError) -> NIOSSLContext? {
    guard let files else { return nil }
    let chain = try content(of: files.certificate, expecting: "certificate in PEM") {
        try NIOSSLCertificate.fromPEMFile($0)
    }
    let key = try content(of: files.key, expecting: "private key in PEM without a passphrase") {
        try NIOSSLPrivateKey(file: $0, format: .pem)
    }
    var configuration = TLSConfiguration.makeServerConfiguration(
        certificateChain: chain.map { .certificate($0) },
        privateKey: .privateKey(key)
    )
    configuration.minimumTLSVersion = .tlsv12
    // Waits only briefly for the close_notify of a client that was too slow.
    configuration.shutdownTimeout = .seconds(1)
    configuration.applicationProtocols = protocols
    do {
        return try NIOSSLContext(configuration: configuration)
    } catch NIOSSLError.failedToLoadPrivateKey {
        throw ServerError(
            .badCertificate,
            "the key in \(files.key) does not belong to the first certificate in \(files.certificate)"
        )
    } catch {
        throw ServerError(.badCertificate, "\(files.certificate) and \(files.key) cannot be used: \(error)")
    }
}

/// Reads a certificate or a key. NIOSSL's errors name neither the file nor the reason, and that of a file without a key would be
/// that of a key for another certificate.
private func content<Value>(
    of path: String,
    expecting what: String,
    read: (String) throws -> Value
) throws(ServerError) -> Value {
    do {
        return try read(path)
    } catch {
        let reason = String.reasonNotToRead(path).map { "cannot be read: \($0)" } ?? "has no \(what)"
        throw ServerError(.badCertificate, "\(path) \(reason)")
    }
}
