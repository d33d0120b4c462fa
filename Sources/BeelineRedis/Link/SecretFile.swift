// SPDX-License-Identifier: Apache-2.0

#if Redis
import LibC

/// Reads files that the settings of a server name.
enum SecretFile {
    /// Reads a file.
    ///
    /// - Parameters:
    ///   - what: The kind of the file, for messages.
    ///   - code: The code of the error.
    ///   - isSecret: Whether the file must not be open to all users. Default: true.
    ///   - maxOctets: The maximum size in octets. Default: 4,096.
    /// - Throws: ``RedisError`` if the file cannot be read, is not a regular file, is too large, or is open to all
    ///   users.
    static func read(
        _ path: String,
        _ what: String,
        code: RedisError.Code,
        isSecret: Bool = true,
        maxOctets: Int = 4_096
    ) throws(RedisError) -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else {
            throw RedisError(code, "the \(what) file \(path) cannot be opened: \(String(cString: strerror(errno)))")
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & 0o170000 == 0o100000 else {
            throw RedisError(code, "the \(what) file \(path) is not a regular file")
        }
        guard !isSecret || status.st_mode & 0o007 == 0 else {
            throw RedisError(code, "the \(what) file \(path) is open to all users; run: chmod 600 \(path)")
        }
        var octets: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: min(maxOctets + 1, 65_536))
        // Reading beyond the limit shows that the file is too large.
        while octets.count <= maxOctets {
            let count = systemRead(file, into: &piece, count: piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw RedisError(code, "the \(what) file \(path) cannot be read: \(String(cString: strerror(errno)))")
            }
            if count == 0 { return octets }
            octets += piece[..<count]
        }
        throw RedisError(code, "the \(what) file \(path) is larger than \(maxOctets) octets")
    }
}

/// The system's `read`, which the method of the same name hides.
private func systemRead(_ file: Int32, into buffer: UnsafeMutableRawPointer?, count: Int) -> Int {
    read(file, buffer, count)
}
#endif
