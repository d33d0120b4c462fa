// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
import Dispatch
import LibC

extension SystemNetworkMonitor {
    // From linux/rtnetlink.h, which is in no module: changes of links, addresses and routes.
    private static let groups: UInt32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400

    /// Yields on messages of the kernel's routing socket (rtnetlink(7)). The sequence is empty if the socket cannot be
    /// opened.
    package func changes() -> AsyncStream<Void> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            #if canImport(Glibc)
            let type = Int32(SOCK_RAW.rawValue)
            #else
            let type = SOCK_RAW
            #endif
            let flags = Int32(0o2000000) | Int32(0o4000)  // SOCK_CLOEXEC, SOCK_NONBLOCK
            let handle = socket(AF_NETLINK, type | flags, 0)
            guard handle >= 0 else { return continuation.finish() }
            // struct sockaddr_nl: family, padding, port, groups.
            var address = (sa_family_t(AF_NETLINK), UInt16(0), UInt32(0), Self.groups)
            let size = socklen_t(MemoryLayout.size(ofValue: address))
            let bound = unsafe withUnsafePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe bind(handle, $0, size) }
            }
            guard bound == 0 else {
                close(handle)
                return continuation.finish()
            }
            // A source may be cancelled from any thread, but Dispatch does not declare it Sendable.
            nonisolated(unsafe) let source = DispatchSource.makeReadSource(fileDescriptor: handle)
            unsafe source.setEventHandler {
                var buffer = [UInt8](repeating: 0, count: 8_192)
                // Discard the messages: ``current()`` reads the whole network state.
                while unsafe recv(handle, &buffer, buffer.count, 0) > 0 {}
                continuation.yield()
            }
            unsafe source.setCancelHandler { close(handle) }
            continuation.onTermination = { _ in unsafe source.cancel() }
            unsafe source.activate()
        }
    }
}
#endif
