// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOConcurrencyHelpers
import NIOCore
import NIOSSL

/// The certificate of a server and its key, read again when their files change. A pair that becomes invalid keeps the
/// previous one in use.
final class ServerCertificate: Sendable {
    /// A pair that was read, and the stamps of its files before that. A stamp is nil if the file is not a regular file.
    struct Reading: Sendable {
        /// Nil without TLS.
        fileprivate let context: NIOSSLContext?
        fileprivate let stamps: [FileStamp?]
    }

    private struct State {
        var context: NIOSSLContext?
        /// The stamps of the last valid pair.
        var read: [FileStamp?]
        /// The stamps of the invalid pair that was reported. It is tried again: the failure may be of the system.
        var failed: [FileStamp?]?
        /// The stamps at the last check.
        var seen: [FileStamp?]
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
        let stamps = Self.stamps(files)
        let context = try Self.context(files, protocols: protocols)
        state = NIOLockedValueBox(State(context: context, read: stamps, seen: stamps))
    }

    /// The TLS context for new connections. Nil for cleartext.
    var context: NIOSSLContext? { state.withLockedValue { $0.context } }

    /// Reads the files without using them. Call ``use(_:)`` to use the result.
    func read() throws(ServerError) -> Reading {
        // Takes the stamps before reading, so that a write during the read triggers another read.
        let stamps = Self.stamps(files)
        return Reading(context: try Self.context(files, protocols: protocols), stamps: stamps)
    }

    /// Uses the result of ``read()`` for new connections.
    func use(_ reading: Reading) {
        state.withLockedValue {
            $0 = State(context: reading.context, read: reading.stamps, seen: reading.stamps)
        }
    }

    /// Reads changed files and uses the pair for new connections. Call it at intervals: files are read when they have
    /// not changed since the previous call, because programs write the two files one after the other.
    ///
    /// - Throws: ``ServerError`` with code `badCertificate`, once for each change.
    func reload() throws(ServerError) {
        guard files != nil else { return }
        let stamps = Self.stamps(files)
        let (mustRead, isReported) = state.withLockedValue { state in
            defer { state.seen = stamps }
            guard stamps != state.read else {
                state.failed = nil
                return (false, false)
            }
            let isReported = stamps == state.failed
            // A pipe can be read only once, and a file that is missing gets another stamp.
            return (stamps == state.seen && !(isReported && stamps.contains(nil)), isReported)
        }
        guard mustRead else { return }
        do throws(ServerError) {
            use(try read())
        } catch {
            state.withLockedValue { $0.failed = stamps }
            if !isReported { throw error }
        }
    }

    private static func stamps(_ files: ServerConfiguration.TLSFiles?) -> [FileStamp?] {
        files.map { [FileStamp($0.certificate), FileStamp($0.key)] } ?? []
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
