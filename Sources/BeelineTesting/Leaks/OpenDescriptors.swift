// SPDX-License-Identifier: Apache-2.0

import LibC
import NIOCore
package import Names

/// The open file descriptors of this process.
package enum OpenDescriptors {
    /// The number of open descriptors. Concurrent tests change it, so compare it only in a test that runs alone. Elsewhere use
    /// ``sockets(connectedTo:)``.
    package static func count() -> Int { all().count }

    /// The number of client sockets connected to one of the endpoints. If the endpoints are a test's own servers, concurrent
    /// tests do not affect it.
    package static func sockets(connectedTo endpoints: [Endpoint]) -> Int {
        let endpoints = Set(endpoints)
        return all().count { descriptor in peer(of: descriptor).map(endpoints.contains) ?? false }
    }

    /// Describes the descriptors for messages, such as `12 → socket:[34567]`. Only Linux has the targets.
    static func describe() -> [String] {
        all().map { descriptor in
            var target = [CChar](repeating: 0, count: 256)
            let length = readlink("/proc/self/fd/\(descriptor)", &target, target.count)
            let text = String(decoding: target.prefix(max(0, length)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
            return text.isEmpty ? "\(descriptor)" : "\(descriptor) → \(text)"
        }
    }

    /// The open descriptors. Without /proc, tests each number below the limit (at most 65,536).
    private static func all() -> [CInt] {
        #if os(Linux)
        if let listed = listed() { return listed }
        #endif
        return (0..<min(CInt(getdtablesize()), 65_536)).filter { fcntl($0, F_GETFD) != -1 }
    }

    #if os(Linux)
    /// The open descriptors from /proc. The limit may be a million, too many to test one by one.
    private static func listed() -> [CInt]? {
        guard let directory = opendir("/proc/self/fd") else { return nil }
        defer { closedir(directory) }
        let own = dirfd(directory)
        var result: [CInt] = []
        while let entry = readdir(directory) {
            if let descriptor = CInt(name(of: entry)), descriptor != own { result.append(descriptor) }
        }
        return result
    }

    /// The name of an entry. Reads it in place: for the last entry, memory may end after the name, so copying the whole
    /// structure could read out of bounds.
    static func name(of entry: UnsafePointer<dirent>) -> String {
        guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { return "" }
        return String(cString: (UnsafeRawPointer(entry) + offset).assumingMemoryBound(to: CChar.self))
    }
    #endif

    private static func peer(of descriptor: CInt) -> Endpoint? {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &storage) { bytes -> Endpoint? in
            let pointer = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress
            guard let pointer, getpeername(descriptor, pointer, &size) == 0 else { return nil }
            // Both families have the port at offset 2. The address is at offset 4, or 8 for IPv6, after the flow label.
            let port = UInt16(bytes[2]) << 8 | UInt16(bytes[3])
            let octets: ArraySlice<UInt8>
            switch CInt(pointer.pointee.sa_family) {
            case AF_INET: octets = Array(bytes[4..<8])[...]
            case AF_INET6: octets = Array(bytes[8..<24])[...]
            default: return nil
            }
            return IPAddress(octets: octets).map { Endpoint($0, port: port) }
        }
    }
}
