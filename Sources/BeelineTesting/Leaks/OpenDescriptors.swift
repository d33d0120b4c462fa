// SPDX-License-Identifier: Apache-2.0

import NIOCore
public import Names

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The file descriptors that this process holds.
public enum OpenDescriptors {
    /// How many there are. Other tests of the process open and close their own meanwhile: compare only where nothing
    /// else runs, and use ``sockets(connectedTo:)`` elsewhere.
    public static func count() -> Int { all().count }

    /// How many sockets are connected to one of the endpoints, as their client. Nobody else's sockets are, where the
    /// endpoints are a test's own servers.
    public static func sockets(connectedTo endpoints: [Endpoint]) -> Int {
        let endpoints = Set(endpoints)
        return all().count { descriptor in peer(of: descriptor).map(endpoints.contains) ?? false }
    }

    /// What the descriptors are, for messages: `12 → socket:[34567]`. Only Linux can say it.
    static func describe() -> [String] {
        all().map { descriptor in
            var target = [CChar](repeating: 0, count: 256)
            let length = readlink("/proc/self/fd/\(descriptor)", &target, target.count)
            let text = String(decoding: target.prefix(max(0, length)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
            return text.isEmpty ? "\(descriptor)" : "\(descriptor) → \(text)"
        }
    }

    /// The open ones, by asking for each below the limit (at most 65,536).
    private static func all() -> [CInt] {
        #if os(Linux)
        if let listed = listed() { return listed }
        #endif
        return (0..<min(CInt(getdtablesize()), 65_536)).filter { fcntl($0, F_GETFD) != -1 }
    }

    #if os(Linux)
    /// The open ones, as /proc lists them; the limit may be a million, which is too many to ask for.
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

    /// The name of an entry. Its structure is not copied: where it stands last in what was read, memory may end behind its name.
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
            // The port stands at offset 2 for both families; the address at 4 or, after the flow label, at 8.
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
