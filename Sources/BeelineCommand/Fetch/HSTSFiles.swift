// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineStore

/// The files of `--hsts`, which store the hosts that require TLS. They are in curl's format, or in SQLite if the name
/// ends in `.sqlite`.
struct HSTSFiles: Hashable, Sendable {
    /// The files to read. As in curl, the last one is written.
    let paths: [String]

    /// - Parameter paths: the values of the option. An empty value is ignored.
    init(_ paths: [String]) { self.paths = paths.filter { !$0.isEmpty } }

    /// Adds the hosts of all files that exist.
    ///
    /// - Returns: messages about damaged files for the user, one line each.
    /// - Throws: ``CommandFailure`` if a file cannot be read, or if writing it would destroy other data.
    func read(into hosts: HSTSStore) async throws(CommandFailure) -> [String] {
        var messages: [String] = []
        for path in paths where FileDescriptor.exists(path) {
            if path.hasSuffix(".sqlite") {
                do throws(StoreError) {
                    let (entries, message) = try await HSTSDatabase(path: path).loadWithMessage()
                    hosts.add(entries)
                    if let message { messages.append("--hsts: \(message)") }
                } catch {
                    throw CommandFailure(.readFailed, "--hsts: \(error.message)")
                }
            } else {
                let (entries, skipped) = HSTSFile.read(try InputFiles.real.text(path))
                guard skipped == 0 || !entries.isEmpty else {
                    throw CommandFailure(
                        .usage,
                        "--hsts: \(path) holds other data, which would be lost; name another file"
                    )
                }
                hosts.add(entries)
            }
        }
        return messages
    }

    /// Writes the hosts to the last file. A text file is replaced atomically, like a jar.
    ///
    /// - Throws: ``CommandFailure`` with status `writeFailed`.
    func save(_ hosts: HSTSStore) async throws(CommandFailure) {
        guard let path = paths.last else { return }
        if path.hasSuffix(".sqlite") {
            do throws(StoreError) {
                try await HSTSDatabase(path: path).save(hosts.entries)
            } catch {
                throw CommandFailure(.writeFailed, "--hsts: \(error.message)")
            }
        } else {
            do throws(FileDescriptor.Failure) {
                try JarFile.replace(path, by: Array(HSTSFile.write(hosts.entries).utf8))
            } catch {
                throw CommandFailure(.writeFailed, "--hsts: \(path) cannot be written: \(error)")
            }
        }
    }
}
