// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOConcurrencyHelpers
import NIOCore
import NIOSSL

/// The certificate of a server and its key, read again when their files change. A pair that becomes invalid keeps the
/// previous one in use.
final class ServerCertificate: Sendable {
    /// A pair that was read, and the versions of its files.
    struct Reading: Sendable {
        /// Nil without TLS.
        fileprivate let context: NIOSSLContext?
        fileprivate let changes: FileChanges
    }

    private struct State {
        var context: NIOSSLContext?
        /// Compares the files with the last valid pair.
        var changes: FileChanges
        /// The stamps of the invalid pair that was reported. It is tried again: the failure may be of the system.
        var failed: FileChanges.Stamps?
    }

    private let files: ServerConfiguration.TLSFiles?
    private let protocols: [String]
    private let state: NIOLockedValueBox<State>

    /// - Parameters:
    ///   - files: Nil without TLS.
    ///   - protocols: The protocols to offer (ALPN).
    /// - Throws: ``ServerError`` with code `badCertificate`.
    init(_ files: ServerConfiguration.TLSFiles?, protocols: [String]) throws(ServerError) {
        (self.files, self.protocols) = (files, protocols)
        let changes = FileChanges(read: Self.stamps(files))
        let context = try Self.context(files, protocols: protocols)
        state = NIOLockedValueBox(State(context: context, changes: changes))
    }

    /// The TLS context for new connections. Nil for cleartext.
    var context: NIOSSLContext? { state.withLockedValue { $0.context } }

    /// Reads the files without using them. Call ``use(_:)`` to use the result.
    func read() throws(ServerError) -> Reading {
        let changes = FileChanges(read: Self.stamps(files))
        return Reading(context: try Self.context(files, protocols: protocols), changes: changes)
    }

    /// Uses the result of ``read()`` for new connections.
    func use(_ reading: Reading) {
        state.withLockedValue { $0 = State(context: reading.context, changes: reading.changes) }
    }

    /// Reads changed files and uses the pair for new connections. Call it at intervals: files are read when they have
    /// not changed since the previous call, because programs write the two files one after the other.
    ///
    /// - Throws: ``ServerError`` with code `badCertificate`, once for each change.
    func reload() throws(ServerError) {
        guard files != nil else { return }
        let stamps = Self.stamps(files)
        let (mustRead, isReported) = state.withLockedValue { state in
            let mustRead = state.changes.mustRead(stamps)
            if stamps == state.changes.read { state.failed = nil }
            let isReported = stamps == state.failed
            // A pipe can be read only once, and a file that is missing gets another stamp.
            return (mustRead && !(isReported && stamps.values.contains(nil)), isReported)
        }
        guard mustRead else { return }
        do throws(ServerError) {
            use(try read())
        } catch {
            state.withLockedValue { $0.failed = stamps }
            if !isReported { throw error }
        }
    }

    private static func stamps(_ files: ServerConfiguration.TLSFiles?) -> FileChanges.Stamps {
        FileChanges.stamps(of: files.map { [$0.certificate, $0.key] } ?? [])
    }

    private static func context(
        _ files: ServerConfiguration.TLSFiles?,
        protocols: [String]
    ) throws(ServerError) -> NIOSSLContext? {
        guard let files else { return nil }
        do {
            let chain = try NIOSSLCertificate.fromPEMFile(files.certificate)
            let key = try NIOSSLPrivateKey(file: files.key, format: .pem)
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) },
                privateKey: .privateKey(key)
            )
            configuration.minimumTLSVersion = .tlsv12
            // Waits only briefly for the close_notify of a client that was too slow.
            configuration.shutdownTimeout = .seconds(1)
            configuration.applicationProtocols = protocols
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw ServerError(
                .badCertificate,
                "\(files.certificate) and \(files.key) are not a certificate and its key in PEM: \(error)"
            )
        }
    }
}
