// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Options for the output of the responses of one part of a command line.
struct OutputArguments: FetchOptionGroup {
    /// The destination of one URL's body.
    enum Destination: Hashable, Sendable {
        /// `-o FILE`; `-` is standard output.
        case file(String)
        /// `-O`.
        case remoteName
        /// `--no-remote-name`: standard output, even with `--remote-name-all`.
        case standardOutput
        /// `--out-null`.
        case nothing
    }

    /// The treatment of a status of 400 or higher.
    enum ErrorStatus: Hashable, Sendable {
        /// The response is treated like any other.
        case accepted
        /// `--fail`: exits with code 22 and prints no body.
        case failed
        /// `--fail-with-body`: exits with code 22 and prints the body.
        case failedWithBody
    }

    /// The destinations of the URLs, in order.
    var destinations: [Destination] = []
    var allRemoteNames = false
    var usesHeaderName = false
    var folder: String?
    var createsFolders = false
    /// `--clobber` and `--no-clobber`. Nil: files are overwritten, except files that the server names.
    var clobbers: Bool?
    var skipsExisting = false
    var removesOnError = false
    var setsRemoteTime = false
    /// `--create-file-mode`: the permissions of new files.
    var fileMode: Int?
    var include = false
    var dumpHeader: String?
    var errorStatus = ErrorStatus.accepted
    var writeOut: String?
    var hidesMeter = false

    static let options: [FetchOption] = [
        .text("output", "o", value: "file", help: "Write the body to this file; one for each URL") {
            $0.output.destinations.append(.file($1))
        }.path(),
        .flag("remote-name", "O", help: "Write the body to a file named as the remote file") {
            // As in curl, `--no-remote-name` is for a URL of `--remote-name-all` only.
            if $1 || $0.output.allRemoteNames {
                $0.output.destinations.append($1 ? .remoteName : .standardOutput)
            }
        },
        .flag("remote-name-all", help: "Use -O for every URL without -o") { $0.output.allRemoteNames = $1 },
        .flag("remote-header-name", "J", help: "With -O: use the file name of the response") {
            $0.output.usesHeaderName = $1
        },
        .flag("remote-time", "R", help: "Give the file the time of the remote file") { $0.output.setsRemoteTime = $1 },
        .flag("out-null", help: "Discard the body") {
            $0.output.destinations.append($1 ? .nothing : .standardOutput)
        },
        .text("output-dir", value: "dir", help: "Write files to this folder") { $0.output.folder = $1 }.path(),
        .flag("create-dirs", help: "Create missing folders of the output files") { $0.output.createsFolders = $1 },
        .text("create-file-mode", value: "mode", help: "Permissions of new files, in octal (default: 0666)") {
            $0.output.fileMode = Int($1, radix: 8) ?? -1
        },
        .flag("no-clobber", help: "Add a number to the name of a file that exists") { $0.output.clobbers = !$1 },
        .flag("clobber", help: "Overwrite files that exist, with -J too") { $0.output.clobbers = $1 },
        .flag("skip-existing", help: "Skip the transfer if its file exists") { $0.output.skipsExisting = $1 },
        .flag("remove-on-error", help: "Remove the file of a transfer that failed") { $0.output.removesOnError = $1 },
        .flag("include", "i", help: "Print the response headers before the body") { $0.output.include = $1 },
        .flag("show-headers", help: nil) { $0.output.include = $1 },
        .text("dump-header", "D", value: "to", help: "Write the response headers to this file") {
            $0.output.dumpHeader = $1
        }.path(),
        .flag("fail", "f", help: "Exit with 22 at status 400 and above, without a body") {
            if $1, $0.output.errorStatus == .failedWithBody {
                $0.session.warn("--fail deselects --fail-with-body here")
            }
            $0.output.errorStatus = $1 ? .failed : .accepted
        },
        .flag("fail-with-body", help: "Like -f, but write the body") {
            if $1, $0.output.errorStatus == .failed { $0.session.warn("--fail-with-body deselects --fail here") }
            $0.output.errorStatus = $1 ? .failedWithBody : .accepted
        },
        .text("write-out", "w", value: "text", help: "Print this text after each transfer, such as '%{http_code}\\n'") {
            $0.output.writeOut = $1
        },
        .flag("no-progress-meter", help: "Show no progress") { $0.output.hidesMeter = $1 },
        .flag("progress-meter", help: nil) { $0.output.hidesMeter = !$1 },
    ]
}
