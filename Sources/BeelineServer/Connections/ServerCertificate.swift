// SPDX-License-Identifier: Apache-2.0

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
    do {
        let chain = try NIOSSLCertificate.fromPEMFile(files.certificate)
        let key = try privateKey(in: files.key)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(key)
        )
        configuration.minimumTLSVersion = .tlsv12
        // Waits only briefly for the close_notify of a client that was too slow.
        configuration.shutdownTimeout = .seconds(1)
        configuration.applicationProtocols = protocols
        return try NIOSSLContext(configuration: configuration)
    } catch let error as ServerError {
        throw error
    } catch NIOSSLError.failedToLoadPrivateKey {
        throw ServerError(
            .badCertificate,
            "the key in \(files.key) does not belong to the first certificate in \(files.certificate)"
        )
    } catch {
        throw ServerError(
            .badCertificate,
            "\(files.certificate) and \(files.key) are not a certificate and its key in PEM: \(error)"
        )
    }
}

/// Reads a key. The error of a file without a key would be that of a key for another certificate.
private func privateKey(in path: String) throws -> NIOSSLPrivateKey {
    do {
        return try NIOSSLPrivateKey(file: path, format: .pem)
    } catch NIOSSLError.failedToLoadPrivateKey {
        throw ServerError(.badCertificate, "\(path) has no private key in PEM without a passphrase")
    }
}
