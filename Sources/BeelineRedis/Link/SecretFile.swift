// SPDX-License-Identifier: Apache-2.0

#if Redis
#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#endif

/// Reads files with secrets.
enum SecretFile {
    /// The maximum size of a secret in octets.
    private static let maxOctets = 4_096

    /// Reads a file.
    ///
    /// - Parameters:
    ///   - what: The kind of the file, for messages.
    ///   - code: The code of the error.
    /// - Throws: ``RedisError`` if the file cannot be read, is not a regular file, or is open to all users.
    static func read(_ path: String, _ what: String, code: RedisError.Code) throws(RedisError) -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else {
            throw RedisError(code, "the \(what) file \(path) cannot be opened: \(String(cString: strerror(errno)))")
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & 0o170000 == 0o100000 else {
            throw RedisError(code, "the \(what) file \(path) is not a regular file")
        }
        guard status.st_mode & 0o007 == 0 else {
            throw RedisError(code, "the \(what) file \(path) is open to all users; run: chmod 600 \(path)")
        }
        var octets = [UInt8](repeating: 0, count: maxOctets + 1)
        var size = 0
        while size < octets.count {
            let count = octets.withUnsafeMutableBytes { bytes in
                Int(systemRead(file, into: bytes.baseAddress?.advanced(by: size), count: bytes.count - size))
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw RedisError(code, "the \(what) file \(path) cannot be read: \(String(cString: strerror(errno)))")
            }
            if count == 0 { break }
            size += count
        }
        guard size <= maxOctets else {
            throw RedisError(code, "the \(what) file \(path) is larger than \(maxOctets) octets")
        }
        return Array(octets.prefix(size))
    }
}

/// The system's `read`, which the method of the same name hides.
private func systemRead(_ file: Int32, into buffer: UnsafeMutableRawPointer?, count: Int) -> Int {
    read(file, buffer, count)
}
#endif
