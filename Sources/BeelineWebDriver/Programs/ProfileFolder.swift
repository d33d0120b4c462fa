// SPDX-License-Identifier: Apache-2.0

import Dispatch
import LibC

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The folder of a temporary profile, readable only by this user. It is deleted when its owner is released.
final class ProfileFolder: Sendable {
    let path: String
    private let owner: ProfileOwner?

    /// - Parameter parent: the folder to create it in; nil uses the one for temporary files.
    /// - Throws: ``WebDriverError`` with code `cannotStart`.
    init(in parent: String? = nil) throws(WebDriverError) {
        let temporary = getenv("TMPDIR").map { String(cString: $0) } ?? ""
        let parent = parent ?? (temporary.isEmpty ? "/tmp" : temporary)
        ProfileOwner.removeAbandoned(in: parent)
        var template = Array("\(parent)/\(ProfileOwner.prefix)XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw WebDriverError(.cannotStart, "cannot create a folder for the profile in \(parent)")
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        owner = ProfileOwner(of: path)
    }

    deinit {
        ProfileOwner.remove(path)
        owner?.release()
    }

    /// Starts a program that uses the profile. On Linux, the next process ends it if this one is killed.
    ///
    /// - Parameter log: The name of the file for its output.
    func start(
        _ arguments: [String],
        environment: [String: String],
        log: String
    ) throws(WebDriverError) -> OwnedProcess {
        let process = try OwnedProcess(arguments, environment: environment, output: self[log])
        owner?.record(process.number)
        return process
    }

    /// The path of a file or folder in the profile.
    subscript(name: String) -> String { "\(path)/\(name)" }

    /// Writes a file and returns its path.
    @discardableResult
    func write(_ text: String, to name: String) throws(WebDriverError) -> String {
        do {
            try Data(text.utf8).write(to: URL(filePath: self[name]))
            return self[name]
        } catch {
            throw WebDriverError(.cannotStart, "\(self[name]): \(error)", underlyingError: error)
        }
    }

    /// Creates a folder and returns its path.
    func makeFolder(_ name: String) throws(WebDriverError) -> String {
        do {
            try FileManager.default.createDirectory(atPath: self[name], withIntermediateDirectories: true)
            return self[name]
        } catch {
            throw WebDriverError(.cannotStart, "\(self[name]): \(error)", underlyingError: error)
        }
    }

    /// Returns the text of a file; nil if it cannot be read.
    func text(_ name: String) -> String? {
        (try? Data(contentsOf: URL(filePath: self[name]))).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Creates an NSS database with roots that are trusted for servers.
    ///
    /// - Parameters:
    ///   - roots: PEM texts with one certificate each.
    ///   - name: the folder of the database.
    ///   - environment: its `PATH` is searched for certutil.
    ///   - patience: the time limit for each step. Default 30 s.
    /// - Throws: ``WebDriverError``: `notInstalled` if certutil is missing.
    func trust(
        _ roots: [String],
        in name: String,
        environment: [String: String],
        within patience: DispatchTimeInterval = .seconds(30)
    ) async throws(WebDriverError) {
        guard !roots.isEmpty else { return }
        let folders = (environment["PATH"] ?? "").split(separator: ":")
        let programs = folders.map { "\($0)/certutil" }
        guard let program = programs.first(where: { FileManager.default.isExecutableFile(atPath: $0) }) else {
            throw WebDriverError(
                .notInstalled,
                "a root for the browser needs NSS's certutil, which is not installed; apt-get install libnss3-tools"
            )
        }
        let database = "sql:\(try makeFolder(name))"
        try await run([program, "-d", database, "-N", "--empty-password"], environment, within: patience)
        for (number, root) in roots.enumerated() {
            let file = try write(root, to: "root-\(number).pem")
            let label = "beeline \(number)"
            let arguments = [program, "-d", database, "-A", "-t", "C,,", "-n", label, "-i", file]
            try await run(arguments, environment, within: patience)
        }
    }

    private func run(
        _ arguments: [String],
        _ environment: [String: String],
        within patience: DispatchTimeInterval
    ) async throws(WebDriverError) {
        let process = try OwnedProcess(arguments, environment: environment, output: self["certutil.log"])
        await process.wait(atMost: patience)
        guard process.status == 0 else {
            let lines = text("certutil.log")?.split(whereSeparator: \.isNewline) ?? []
            throw WebDriverError(.cannotStart, "certutil rejects the root: \(lines.last ?? "it gives no reason")")
        }
    }
}
