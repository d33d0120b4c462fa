// SPDX-License-Identifier: Apache-2.0

import LibC
import NIOSSL

/// Reads a folder of root certificates.
enum RootFolder {
    /// The maximum number of files that are read.
    static let maxFiles = 10_000

    /// The certificates of all PEM files in a folder. Other files are passed over.
    ///
    /// - Throws: ``DirectHTTPError`` with code `tlsFailed` if the folder cannot be read or has too many files.
    static func certificates(in folder: String) throws(DirectHTTPError) -> [NIOSSLCertificate] {
        guard let directory = opendir(folder) else {
            throw DirectHTTPError(.tlsFailed, "the folder \(folder) of root certificates cannot be read")
        }
        defer { closedir(directory) }
        var found: Set<NIOSSLCertificate> = []
        var roots: [NIOSSLCertificate] = []
        var files = 0
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard !name.hasPrefix(".") else { continue }
            files += 1
            guard files <= maxFiles else {
                throw DirectHTTPError(.tlsFailed, "the folder \(folder) has more than \(maxFiles) files")
            }
            // OpenSSL's `rehash` gives each file a second name.
            for root in (try? NIOSSLCertificate.fromPEMFile("\(folder)/\(name)")) ?? [] {
                if found.insert(root).inserted { roots.append(root) }
            }
        }
        return roots
    }
}
