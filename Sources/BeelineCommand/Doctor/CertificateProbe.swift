// SPDX-License-Identifier: Apache-2.0

import Beeline
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NIOSSL
import SwiftASN1
import X509

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A TLS handshake that only reads the server's certificate, valid or not. It sends no data and does not verify the
/// certificate. A request runs at the same time and verifies it.
enum CertificateProbe {
    /// Returns the certificate of an endpoint for a host; nil if the endpoint shows none within `limit`.
    static func certificate(of endpoint: Endpoint, for host: Host, within limit: Duration) async -> CertificateFacts? {
        let shown = NIOLockedValueBox<[UInt8]?>(nil)
        do {
            var settings = TLSConfiguration.makeClientConfiguration()
            // The callback decides, so the system's roots need not be loaded.
            settings.trustRoots = .certificates([])
            let context = try NIOSSLContext(configuration: settings)
            let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connectTimeout(TimeAmount(limit))
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let handler = try NIOSSLClientHandler(
                            context: context,
                            serverHostname: host.dnsName,
                            customVerificationCallback: { chain, promise in
                                shown.withLockedValue { $0 = try? chain.first?.toDERBytes() }
                                // The certificate is recorded; end the handshake.
                                promise.succeed(.failed)
                            }
                        )
                        try channel.pipeline.syncOperations.addHandlers(handler, Closer())
                    }
                }
            let address = try SocketAddress(ipAddress: "\(endpoint.address)", port: Int(endpoint.port))
            let channel = try await bootstrap.connect(to: address).get()
            let timer = channel.eventLoop.scheduleTask(in: TimeAmount(limit)) { channel.close(promise: nil) }
            try? await channel.closeFuture.get()
            timer.cancel()
        } catch {
            return nil
        }
        return shown.withLockedValue { $0 }.flatMap { facts($0, host) }
    }

    /// Closes the connection when the handshake fails.
    private final class Closer: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    /// Parses a DER certificate; nil if it is malformed.
    private static func facts(_ der: [UInt8], _ host: Host) -> CertificateFacts? {
        guard let certificate = try? Certificate(derEncoded: der) else { return nil }
        let names = (try? certificate.extensions.subjectAlternativeNames).map { $0.compactMap(Self.text) } ?? []
        let isForHost = names.contains { name in
            if let address = host.address { return IPAddress(name) == address }
            return IPAddress(name) == nil && CertificateName.matches(Array(name.utf8), host.text)
        }
        return CertificateFacts(
            names: names.map(\.singleLine),
            issuer: "\(certificate.issuer)".singleLine,
            validFrom: Int64(certificate.notValidBefore.timeIntervalSince1970),
            validUntil: Int64(certificate.notValidAfter.timeIntervalSince1970),
            isForHost: isForHost,
            seenAt: Int64(Date().timeIntervalSince1970)
        )
    }

    private static func text(_ name: GeneralName) -> String? {
        switch name {
        case .dnsName(let name): name
        case .ipAddress(let octets): IPAddress(octets: Array(octets.bytes))?.description
        default: nil
        }
    }
}
