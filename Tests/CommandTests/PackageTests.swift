// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Beeline
import Foundation
import Testing

@testable import BeelineCommand

extension ProcessTests {
    /// The files that `Scripts/package` puts into packages beside the program.
    struct PackageTests {
        private let folder: Folder
        private let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().path

        init() throws { folder = try Folder() }

        /// The words of each subcommand, with the words of the commands that it belongs to: `cookies list`.
        private static func subcommands(
            of command: any ParsableCommand.Type = BeelineCommand.self,
            after words: [String] = []
        ) -> [[String]] {
            command.configuration.subcommands.flatMap { subcommand -> [[String]] in
                let path = words + [subcommand._commandName]
                return [path] + subcommands(of: subcommand, after: path)
            }
        }

        private func run(_ line: String, environment: [String: String] = [:]) async throws -> CommandRun {
            let run = try await CommandRun.run("/bin/bash", ["-c", line], in: folder, environment: environment)
            try #require(run.status == 0, "\(run.errors)")
            return run
        }

        @Test func newestVersionOfTheChangelogIsThatOfTheClient() throws {
            let changelog = try String(contentsOfFile: "\(root)/CHANGELOG.md", encoding: .utf8)
            let headings = changelog.split(separator: "\n").filter { $0.hasPrefix("## ") }
            #expect(headings.first { $0 != "## Unreleased" } == "## \(BeelineClient.version)")
        }

        @Test func everySubcommandHasAManualPage() async throws {
            try #require(Self.subcommands().contains(["cookies", "list"]))
            _ = try await run(
                "'\(CommandRun.beeline)' --experimental-dump-help | '\(root)/Scripts/lib/man-pages' 1.2.3 2026-01-02 ."
            )
            for words in Self.subcommands() {
                let name = (["beeline"] + words).joined(separator: "-")
                #expect(try folder.text("\(name).1").contains("\n.SH SYNOPSIS\n"), "\(name)")
                let parent = (["beeline"] + words.dropLast()).joined(separator: "-")
                let reference = name.replacingOccurrences(of: "-", with: "\\-")
                #expect(try folder.text("\(parent).1").contains("\n\\fB\(reference)\\fR(1)\n"), "\(parent): \(name)")
            }
            #expect(try folder.text("beeline.1").contains("\n.SH EXIT STATUS\n.TP\n\\fB0\\fR\nsuccess\n"))
        }

        /// Writes the texts of all licenses that `Scripts/lib/notices` requires, as the sources and packages have them.
        private func makeLicenses() throws {
            let condition = "Permission is hereby granted, free of charge"
            var files = [
                "checkouts/GRDB.swift/LICENSE": "Copyright Gwendal Roué\n\n\(condition)\n",
                "checkouts/swift-nio/LICENSE.txt": "Apache License\n",
                "checkouts/swift-nio/NOTICE.txt": "The SwiftNIO Project\n",
                "checkouts/swift-nio/Sources/CNIOLLHTTP/LICENSE": "Copyright Fedor Indutny\n\n\(condition)\n",
                "checkouts/swift-nio/Sources/CNIOSHA1/sha1.c": """
                /*-
                 * Copyright (C) WIDE Project.
                 * Redistribution and use in source and binary forms
                 */
                int hash;
                """,
                "checkouts/swift-certificates/Sources/X509/Time.swift": """
                // Apache License
                let before = 1
                // Copyright Rich Felker, et al.
                //
                // \(condition)
                let after = 2
                """,
                "documents/nodejs/copyright": """
                  \"""
                    UNICODE LICENSE V3
                    ICU License
                  \"""
                  another part of Node

                """,
            ]
            for name in ["libsqlite3-dev", "zlib1g-dev", "libhiredis-dev", "libbrotli-dev", "libzstd-dev"] {
                files["documents/\(name)/copyright"] = "text of \(name)\n"
            }
            for (name, text) in files {
                let parent = URL(fileURLWithPath: "\(folder.path)/\(name)").deletingLastPathComponent().path
                try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
                try folder.write(text, to: name)
            }
        }

        @Test func noticesHaveTheLicensesOfThePartsOfDependencies() async throws {
            try makeLicenses()
            let text = try await run("'\(root)/Scripts/lib/notices' checkouts documents").text
            for part in [
                "\n==== swift-nio, Sources/CNIOLLHTTP/LICENSE\n\nCopyright Fedor Indutny\n",
                "\n==== swift-nio, Sources/CNIOSHA1/sha1.c\n\nCopyright (C) WIDE Project.\nRedistribution and use",
                "\n==== swift-certificates, Sources/X509/Time.swift\n\nCopyright Rich Felker, et al.\n\nPermission",
                "\n==== libzstd-dev, copyright\n\ntext of libzstd-dev\n",
            ] {
                #expect(text.contains(part), "\(part)")
            }
            #expect(text.hasSuffix("\n==== ICU, LICENSE\n\nUNICODE LICENSE V3\nICU License\n"))
            #expect(!text.contains("int hash") && !text.contains("let ") && !text.contains("swift-nio, LICENSE"))
        }

        @Test(
            "A package without the text of a license is not made",
            arguments: [
                "checkouts/GRDB.swift/LICENSE", "checkouts/swift-nio/Sources/CNIOLLHTTP/LICENSE",
                "checkouts/swift-nio/Sources/CNIOSHA1/sha1.c", "checkouts/swift-certificates/Sources/X509/Time.swift",
                "documents/zlib1g-dev/copyright", "documents/nodejs/copyright",
            ]
        )
        func missingLicense(file: String) async throws {
            try makeLicenses()
            let line = "rm '\(file)' && '\(root)/Scripts/lib/notices' checkouts documents"
            let made = try await CommandRun.run("/bin/bash", ["-c", line], in: folder)
            #expect(made.status == 1 && made.text.isEmpty, "\(made.text)")
            #expect(made.errors.hasPrefix("Scripts/lib/notices: "), "\(made.errors)")
        }

        @Test(arguments: ["bash", "zsh", "fish"])
        func completionsNameEverySubcommand(shell: String) async throws {
            let run = try await CommandRun.run(CommandRun.beeline, ["--generate-completion-script", shell], in: folder)
            #expect(run.status == 0)
            let script = Set(run.text.split { !$0.isLetter && !$0.isNumber && $0 != "-" })
            for word in Set(Self.subcommands().joined()) {
                #expect(script.contains(Substring(word)), "\(word)")
            }
        }

        #if os(Linux)
        /// The tree of the tar archive, with a script for the program.
        private func makeTree() throws -> String {
            let files = [
                "bin/beeline": "#!/bin/sh\necho packed\n", "LICENSE": "license\n", "NOTICE": "notice\n",
                "share/man/man1/beeline.1": ".TH\n", "share/bash-completion/completions/beeline": "#\n",
                "share/zsh/site-functions/_beeline": "#\n", "share/fish/vendor_completions.d/beeline.fish": "#\n",
            ]
            for (name, text) in files {
                let parent = URL(fileURLWithPath: "\(folder.path)/tree/\(name)").deletingLastPathComponent().path
                try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
                try folder.write(text, to: "tree/\(name)")
            }
            return "\(folder.path)/tree"
        }

        private let time = ["SOURCE_DATE_EPOCH": "1767225600"]

        @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/dpkg-deb")))
        func debianPackageHasTheFilesOfItsTree() async throws {
            let made = try await run(
                "'\(root)/Scripts/lib/package-deb' '\(makeTree())' 1.2.3 2.34 '\(folder.path)'",
                environment: time
            )
            let package = try #require(made.text.split(separator: "\n").last)
            #expect(package.hasPrefix("\(folder.path)/beeline_1.2.3-1_"))
            let list = try await run("dpkg-deb --contents '\(package)'").text
            for (file, rights) in [
                ("usr/bin/beeline", "-rwxr-xr-x"), ("usr/share/man/man1/beeline.1.gz", "-rw-r--r--"),
                ("usr/share/doc/beeline/COMMAND.md.gz", "-rw-r--r--"),
                ("etc/beeline/config.json", "-rw-r--r--"),
                ("usr/lib/systemd/system/beeline-serve.socket", "-rw-r--r--"),
                ("usr/lib/systemd/system/beeline-dns.service", "-rw-r--r--"),
                ("usr/share/zsh/vendor-completions/_beeline", "-rw-r--r--"),
            ] {
                let line = list.split(separator: "\n").first { $0.hasSuffix(" ./\(file)") }
                #expect(line?.hasPrefix("\(rights) root/root ") == true, "\(file): \(line ?? "missing")")
            }
            #expect(try await run("dpkg-deb --field '\(package)' Depends").text.hasPrefix("libc6 (>= 2.34), "))
            // The size of a folder depends on the file system, and the package must not.
            let sizes = list.split(separator: "\n").filter { $0.hasPrefix("-") }
                .compactMap { Int($0.split(separator: " ")[2]) }
            let size = sizes.reduce(0) { $0 + ($1 + 1023) / 1024 }
            #expect(try await run("dpkg-deb --field '\(package)' Installed-Size").text == "\(size)\n")
        }

        @Test func zipPackagesHaveTheProgramWithItsRights() async throws {
            _ = try await run(
                "'\(root)/Scripts/lib/package-zips' '\(makeTree())' 1.2.3 2.34 '\(folder.path)'",
                environment: time
            )
            let script = """
                import glob, os, zipfile
                for name in sorted(glob.glob("*.zip") + glob.glob("*.whl")):
                    for entry in zipfile.ZipFile(name).infolist():
                        print(oct(entry.external_attr >> 16), entry.filename)
                """
            let processor = try await run("uname -m").text.trimmingCharacters(in: .newlines)
            let list = try await run("python3 -c '\(script)' && ls *.whl").text.split(separator: "\n")
            let bundled = "beeline.artifactbundle/beeline-1.2.3-\(processor)-unknown-linux-gnu/bin/beeline"
            #expect(list.contains("0o100755 \(bundled)"))
            #expect(list.contains("0o100644 beeline.artifactbundle/info.json"))
            #expect(list.contains("0o100755 beeline_httpdns-1.2.3.data/scripts/beeline"))
            #expect(list.contains("0o100644 beeline_httpdns-1.2.3.dist-info/RECORD"))
            #expect(list.last == "beeline_httpdns-1.2.3-py3-none-manylinux_2_34_\(processor).whl")
        }
        #endif
    }
}
