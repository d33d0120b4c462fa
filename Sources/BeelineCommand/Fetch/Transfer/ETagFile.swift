// SPDX-License-Identifier: Apache-2.0

/// The file of `--etag-save` and `--etag-compare`: one line with an ETag.
struct ETagFile: Hashable, Sendable {
    private let path: String

    init(_ path: String) { self.path = path }

    /// Creates the file if it does not exist. An existing ETag stays until ``save(_:)``.
    ///
    /// - Throws: ``CommandFailure`` with status `readFailed`, curl's code for this.
    func create(createsFolders: Bool) throws(CommandFailure) {
        guard path != "-" else { return }
        if createsFolders { try FileDescriptor.createFolders(of: path) }
        do throws(FileDescriptor.Failure) {
            try FileDescriptor.open(path, .append).close()
        } catch {
            throw CommandFailure(.readFailed, "--etag-save: the file \(path) cannot be written: \(error)")
        }
    }

    /// Replaces the ETag in the file; `-` is standard output.
    func save(_ tag: String) throws(CommandFailure) {
        guard path != "-" else { return try StandardOutput.writeLine(tag) }
        do throws(FileDescriptor.Failure) {
            try FileDescriptor.open(path, .truncate).writeAndClose((tag + "\n").utf8)
        } catch {
            throw CommandFailure(.writeFailed, "--etag-save: the file \(path) cannot be written: \(error)")
        }
    }

    /// Reads the ETag; empty for a file that does not exist.
    func read(_ files: InputFiles) throws(CommandFailure) -> String {
        guard path == "-" || files.size(path) != nil || files.isPipe(path) else { return "" }
        let text = try files.text(path)
        return try HeaderLine.checked(
            String(text.fileLines.first ?? "").trimmingBlanks.description,
            "--etag-compare"
        )
    }
}
