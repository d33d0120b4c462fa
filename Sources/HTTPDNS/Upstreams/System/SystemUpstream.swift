// SPDX-License-Identifier: Apache-2.0

import LibC
package import Names

/// The system's resolver, `getaddrinfo`.
///
/// `getaddrinfo` may block for any time and cannot be stopped, so it runs on a few dedicated threads. A question that
/// exceeds its time limit is abandoned, and others continue on the remaining threads. If all threads are blocked,
/// questions wait until their budget ends. If too many wait, further ones fail at once.
///
/// A host with a final dot is looked up without search domains. The C library does not find such names in the hosts
/// file, so the file is searched here first, as `files` before `dns` in nsswitch.conf(5).
package final class SystemUpstream: Upstream {
    package let name = "system"
    package let kind = UpstreamKind.system

    /// Looks up a name; blocks.
    package typealias LookUp = @Sendable (_ name: String, _ families: Families) -> Result<[IPAddress], UpstreamError>

    private let lookUp: LookUp
    private let work: BlockingWork
    /// The hosts file, for names with a final dot. Nil: it is not searched.
    private let hosts: HostsFileUpstream?

    /// The number of questions that wait or run.
    var waiting: Int { work.waiting }

    /// An upstream that calls `getaddrinfo`.
    package convenience init() { self.init(hostsFile: "/etc/hosts", lookUp: SystemUpstream.getAddresses) }

    /// An upstream with another way to look up names.
    ///
    /// - Parameters:
    ///   - threads: The maximum number of concurrent lookups. Default: 4.
    ///   - maxWaiting: The maximum number of questions that wait or run; more fail with `busy`. Default: 256.
    ///   - hostsFile: The hosts file for names with a final dot; nil: none is searched.
    ///   - lookUp: Looks up a name.
    package init(
        threads: Int = 4,
        maxWaiting: Int = 256,
        hostsFile: String? = nil,
        lookUp: @escaping LookUp
    ) {
        self.lookUp = lookUp
        hosts = hostsFile.map { HostsFileUpstream(path: $0) }
        work = BlockingWork(threads: threads, maxWaiting: maxWaiting)
    }

    package func answer(_ question: Question) async throws(UpstreamError) -> Answer {
        if question.host.hasTrailingDot, let answer = try? await hosts?.answer(question) { return answer }
        let addresses = try await work.run { [lookUp] in lookUp(question.host.text, question.families) }
        return Answer(addresses, families: question.families, ttl: nil)
    }
}

extension SystemUpstream {
    /// Looks up a name with `getaddrinfo`.
    package static func getAddresses(of name: String, families: Families) -> Result<[IPAddress], UpstreamError> {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = families == .v4 ? AF_INET : families == .v6 ? AF_INET6 : AF_UNSPEC
        // Without a socket type, each address is returned once per type.
        #if canImport(Glibc)
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
        unsafe hints.ai_socktype = SOCK_STREAM
        #endif
        let (code, addresses) = unsafe getAddresses(of: name, hints: &hints)
        switch code {
        case 0:
            return .success(addresses)
        case EAI_NONAME, noData, noFamily:
            return .success([])
        case EAI_AGAIN:
            let message =
                "the system's resolver cannot answer now: its DNS server does not respond or fails (\(text(code)))"
            return .failure(UpstreamError(.unreachable, message))
        default:
            return .failure(UpstreamError(.lookupFailed, "the system's resolver failed (\(text(code)))"))
        }
    }

    /// Calls `getaddrinfo`, copies its list and frees it.
    private static func getAddresses(of name: String, hints: inout addrinfo) -> (code: CInt, addresses: [IPAddress]) {
        var list: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(name, nil, &hints, &list)
        defer { if let list = unsafe list { unsafe freeaddrinfo(list) } }
        var addresses: [IPAddress] = []
        var next = unsafe code == 0 ? list : nil
        while let entry = unsafe next {
            if let address = unsafe entry.pointee.ai_addr, let address = unsafe IPAddress(address) {
                addresses.append(address)
            }
            unsafe next = entry.pointee.ai_next
        }
        return (code, addresses)
    }

    private static func text(_ code: Int32) -> String {
        unsafe gai_strerror(code).map { unsafe String(cString: $0) } ?? "code \(code)"
    }

    #if canImport(Glibc)
    // GNU extensions that are not in the module map: EAI_NODATA and EAI_ADDRFAMILY.
    private static let noData: Int32 = -5
    private static let noFamily: Int32 = -9
    #elseif canImport(Darwin)
    private static let noData = EAI_NODATA
    private static let noFamily = EAI_ADDRFAMILY
    #else
    private static let noData = EAI_NODATA
    private static let noFamily = EAI_NONAME
    #endif
}
