// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Foundation
import Testing

extension ProcessTests {
    /// The scripts run in a nearly empty package, with fake programs in place of Swift.
    struct ScriptTests {
        /// A nearly empty package with copies of the scripts.
        private struct Package {
            let folder: Folder
            /// The folder of the fake programs, the first one in `PATH`.
            private let programs: String

            init() throws {
                folder = try Folder()
                programs = "\(folder.path)/programs"
                for name in ["programs", "Sources/Names", "Sources/DirectHTTP", "Tests/GuideTests", "bin"] {
                    try FileManager.default.createDirectory(
                        atPath: "\(folder.path)/\(name)",
                        withIntermediateDirectories: true
                    )
                }
                let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                    .deletingLastPathComponent()
                let scripts = root.appendingPathComponent("Scripts").path
                try FileManager.default.copyItem(atPath: scripts, toPath: "\(folder.path)/Scripts")
                // Empty lists: the scripts install no packages.
                try folder.write("", to: "Scripts/lib/packages")
                try program("shellcheck", "exit 0")
                // On a Mac, with the addresses of the demo.
                try program("ifconfig", "echo inet 127.0.0.66")
                try program(
                    "swift",
                    """
                    case "$*" in
                        --version) echo "Swift version 6.2" ;;
                        *--show-bin-path*) echo "\(folder.path)/bin" ;;
                        build*)
                            printf '#!/bin/sh\\necho installed\\n' >"\(folder.path)/bin/beeline"
                            chmod +x "\(folder.path)/bin/beeline"
                            ;;
                        "test list"*) echo "HTTPDNSTests.HostTests/a()" ;;
                        test*) echo "the tests ran: Test run with 1 test" ;;
                    esac
                    """
                )
            }

            func program(_ name: String, _ script: String) throws {
                let path = try folder.write("#!/bin/bash\n\(script)\n", to: "programs/\(name)")
                try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
            }

            /// Runs a shell command at the root of the package.
            ///
            /// - Parameter path: the rest of `PATH`, after the fake programs.
            func run(_ line: String, path: String = "/usr/bin:/bin") async throws -> CommandRun {
                try await CommandRun.run(
                    "/bin/bash",
                    ["-c", line],
                    in: folder,
                    environment: ["PATH": "\(programs):\(path)"]
                )
            }
        }

        @Test func aRelativeFolderOfInstallIsTheCallers() async throws {
            let package = try Package()
            let run = try await package.run("mkdir -p other && cd other && ../Scripts/install --to here")
            #expect(run.status == 0, "\(run.errors)")
            #expect(package.folder.has("other/here/beeline") && !package.folder.has("here"))
            #expect(run.text.hasSuffix("/other/here/beeline\n"))
            let absolute = try await package.run(
                "cd /tmp && '\(package.folder.path)/Scripts/install' --to '\(package.folder.path)/abs'"
            )
            #expect(absolute.status == 0 && package.folder.has("abs/beeline"), "\(absolute.errors)")
        }

        @Test func installNamesAFolderThatIsNotInPATH() async throws {
            let package = try Package()
            let line = "Scripts/install --to here"
            #expect(try await package.run(line).errors.contains("/here is not in PATH\n"))
            let run = try await package.run("PATH=$PATH:$PWD/here \(line)")
            #expect(run.status == 0 && !run.errors.contains("PATH"), "\(run.errors)")
        }

        @Test(arguments: ["install", "package"])
        func aFolderThatCannotBeMadeIsReportedBeforeTheBuild(script: String) async throws {
            let package = try Package()
            try package.program("uname", "echo Linux")
            let run = try await package.run("Scripts/\(script) --to /dev/null/here")
            #expect(run.status == 1 && run.text.isEmpty, "\(run.text)")
            #expect(run.errors == "Scripts/\(script): the folder /dev/null/here cannot be made\n", "\(run.errors)")
        }

        @Test(arguments: ["cd Scripts && ./", "cd Sources && ../Scripts/", "Scripts/"])
        func helpIsThereFromEveryFolder(_ start: String) async throws {
            let package = try Package()
            let scripts = [
                ("check-apple", "Scripts/check-apple"), ("check-layering", "[ROOT]"), ("demo", "--release"),
                ("fuzz", "--fast"), ("install", "--to DIR"), ("package", "--to DIR"), ("test", "--only"),
                ("update-idna-data", "--output"),
                ("update-public-api", "docs/public-api.md"), ("update-public-suffix-list", "publicsuffix"),
            ]
            let all = try FileManager.default.contentsOfDirectory(atPath: "\(package.folder.path)/Scripts")
            #expect(Set(all) == Set(scripts.map(\.0)).union(["apple-stubs", "lib"]))
            for (script, word) in scripts {
                let run = try await package.run("\(start)\(script) --help")
                #expect(run.status == 0 && run.text.contains(word) && run.errors.isEmpty, "\(script): \(run.errors)")
            }
        }

        /// Lists a package that no system has for each of `needs`, and one that is installed. The user is not root.
        private func packageWithMissing(_ needs: [String]) throws -> Package {
            let package = try Package()
            let lines = needs.map { "\($0) missing-for-\($0) program no-such-program-of-\($0)" }
            let list = (["# A comment.", "build,tests bash program bash"] + lines).joined(separator: "\n") + "\n"
            try package.folder.write(list, to: "Scripts/lib/packages")
            try package.program("id", "echo 1000")
            try package.program("apt-get", "echo called >&2; exit 1")
            try package.program("apt-cache", "[ \"$1\" != policy ] || echo ' 500 http://deb.test/debian Packages'")
            return package
        }

        @Test func demoAndInstallDoNotAskForThePackagesOfTheTests() async throws {
            let package = try packageWithMissing(["traits", "python", "tests"])
            for line in ["Scripts/demo", "Scripts/install --to here"] {
                let run = try await package.run(line)
                #expect(run.status == 0 && !run.errors.contains("missing"), "\(run.errors)")
            }
        }

        @Test func demoRunsWithoutRootAndNamesThePackageThatIsMissing() async throws {
            let package = try packageWithMissing(["build"])
            let run = try await package.run("Scripts/demo")
            #expect(run.status == 0 && run.text == "installed\n", "\(run.errors)")
            #expect(run.errors.contains("run: sudo apt-get install -y missing-for-build\n"), "\(run.errors)")
            #expect(run.errors.contains("debug build took ") && !run.errors.contains("called"), "\(run.errors)")
        }

        @Test func aPackageThatTheSystemDoesNotHaveIsNotInTheCommand() async throws {
            let package = try packageWithMissing(["traits", "build"])
            let line = "Scripts/test --only imports"
            try package.program("apt-cache", "case $* in policy) echo Packages ;; *-build) exit 100 ;; esac")
            let some = "run: sudo apt-get install -y missing-for-traits; this system has no packages of these names: "
            let run = try await package.run(line)
            #expect(run.errors.contains("\(some)missing-for-build\n"), "\(run.errors)")
            // A system without lists of packages knows no name.
            try package.program("apt-cache", "exit 100")
            let all = "run: sudo apt-get install -y missing-for-traits missing-for-build\n"
            #expect(try await package.run(line).errors.contains(all))
        }

        @Test func demoNamesTheAddressesThatMacOSLacksBeforeItBuilds() async throws {
            let package = try Package()
            try package.program("uname", "echo Darwin")
            try package.program("ifconfig", "echo inet 127.0.0.1 netmask 0xff000000")
            let run = try await package.run("Scripts/demo")
            #expect(run.status == 1 && !run.errors.contains("build"), "\(run.errors)")
            #expect(run.errors.contains("; run: for n in 11 12 13 66; do sudo ifconfig lo0 alias "), "\(run.errors)")
            try package.program("ifconfig", "echo inet 127.0.0.11; echo inet 127.0.0.66 netmask 0xff000000")
            #expect(try await package.run("Scripts/demo").text == "installed\n")
        }

        @Test func aSwiftThatDoesNotStartIsReportedWithItsError() async throws {
            let package = try Package()
            try package.program("swift", "echo 'libsqlite3.so.0: cannot open shared object file' >&2; exit 127")
            let run = try await package.run("Scripts/demo")
            #expect(run.status == 1 && run.text.isEmpty, "\(run.text)")
            #expect(run.errors.hasPrefix("Scripts/demo: swift does not start; install "), "\(run.errors)")
            #expect(run.errors.hasSuffix(": libsqlite3.so.0: cannot open shared object file\n"), "\(run.errors)")
        }

        @Test func aCheckWhosePackageIsMissingFailsAndTheOthersRun() async throws {
            let package = try packageWithMissing(["python", "tests"])
            let run = try await package.run("Scripts/test --only format,layering,imports,tests")
            let lines = run.text.split(separator: "\n").map { line in
                line.split(separator: " ").prefix(2).joined(separator: " ")
            }
            let expected = [
                "ok format", "FAILED layering", "ok imports", "passed HTTPDNSTests", "the tests", "✔ Test",
            ]
            #expect(lines == expected, "\(run.text)\(run.errors)")
            #expect(run.text.contains("missing: missing-for-python\n"), "\(run.text)")
            let line = "run: sudo apt-get install -y missing-for-python missing-for-tests\n"
            #expect(run.status == 1 && run.errors.contains(line), "\(run.errors)")
            #expect(run.errors.hasSuffix("Scripts/test: failed: layering tests\n"), "\(run.errors)")
        }

        @Test func aMissingH2specIsReportedAsSkipped() async throws {
            let package = try Package()
            let run = try await package.run("! command -v h2spec && Scripts/test --only h2spec")
            #expect(run.status == 0 && run.text.hasPrefix("skipped h2spec"), "\(run.text)\(run.errors)")
            #expect(run.text.contains("CONTRIBUTING.md") && run.text.split(separator: "\n").count == 1, "\(run.text)")
            #expect(run.errors.contains("skipped: h2spec"), "\(run.errors)")
        }

        @Test func theServerOfH2specEndsAfterAnInterrupt() async throws {
            let package = try Package()
            let answers = "--version) echo Swift version 6.2 ;; *--show-bin-path*) echo '\(package.folder.path)/bin' ;;"
            try package.program("swift", "case \"$*\" in \(answers) esac")
            try package.program("openssl", "exit 0")
            // As Ctrl-C does, to all processes of the script. The server ignores it.
            try package.program("h2spec", "kill -INT 0")
            let server = """
                #!/bin/bash
                trap 'echo >ended; exit' TERM
                echo listening on 127.0.0.1:1
                for n in {1..600}; do sleep 0.1; done
                """
            try package.folder.write(server, to: "bin/beeline")
            let line = """
                chmod +x bin/beeline && mkdir temporary
                set -m
                TMPDIR=$PWD/temporary Scripts/test --only h2spec &
                wait $!
                ls temporary
                """
            let run = try await package.run(line)
            #expect(run.text.isEmpty, "\(run.text)\(run.errors)")
            try await eventually("the end of the server") { package.folder.has("ended") }
        }

        @Test func theTestsRunWhereThereIsNoTimeLimiter() async throws {
            let package = try Package()
            // All programs except `timeout`, as on macOS.
            let tools = "\(package.folder.path)/tools"
            let links = """
                mkdir '\(tools)' && for program in /usr/bin/* /bin/*; do
                    name=${program##*/}; [ "$name" = timeout ] || [ -e "\(tools)/$name" ] || ln -s "$program" "\(tools)/$name"
                done
                """
            #expect(try await package.run(links).status == 0)
            let run = try await package.run("! command -v timeout && Scripts/test --only tests,tsan", path: tools)
            #expect(
                run.status == 0 && run.text.contains("ok      tsan") && run.text.contains("the tests ran"),
                "\(run.text)\(run.errors)"
            )
            // Homebrew installs it as `gtimeout`.
            try package.program(
                "gtimeout",
                "echo limited by \"$1\"; while [ \"$1\" != env ]; do shift; done; exec \"$@\""
            )
            let limited = try await package.run("Scripts/test --only tests,tsan", path: tools)
            #expect(
                limited.status == 0 && limited.text.contains("limited by --foreground\nthe tests ran"),
                "\(limited.text)"
            )
            #expect(
                try package.folder.text(".build/checks/tsan/HTTPDNSTests.log")
                    .hasPrefix("limited by --foreground\nthe tests ran")
            )
        }

        @Test func aSkippedTestIsNamedAndCounted() async throws {
            let package = try Package()
            let skip = "➜ Test \"kdig asks\" skipped: \"kdig is not installed\""
            try package.program(
                "timeout",
                "echo '\(skip)'; while [ \"$1\" != env ]; do shift; done; exec \"$@\""
            )
            let run = try await package.run("Scripts/lib/run-tests")
            let line = "HTTPDNSTests: Test \"kdig asks\" skipped: \"kdig is not installed\"\n"
            #expect(run.status == 0 && run.text.contains("\nSkipped:\n\(line)"), "\(run.text)\(run.errors)")
            #expect(run.text.contains(" (1 test skipped) passed after "), "\(run.text)")
        }

        @Test func theCheckOfLabelsReadsThePackageFromEveryFolderAndFailsWithoutFiles() async throws {
            let package = try Package()
            let check = "cd /tmp && '\(package.folder.path)/Scripts/lib/check-labels'"
            #expect(try await package.run(check).status == 1)
            try package.folder.write("func f(_ a: Int) {}\n", to: "Sources/Names/File.swift")
            let run = try await package.run(check)
            #expect(run.status == 0 && run.text == "1 files, 0 faults\n", "\(run.text)\(run.errors)")
        }

        @Test func aReportOfTheThreadSanitizerFailsItsCheckAndIsPrintedAtTheEnd() async throws {
            let package = try Package()
            let start = "while [ \"$1\" != env ]; do shift; done"
            try package.program("timeout", "echo 'WARNING: ThreadSanitizer: data race'; \(start); exec \"$@\"")
            let raced = try await package.run("Scripts/test --only tsan")
            #expect(raced.status == 1 && raced.text.contains("FAILED  tsan"), "\(raced.text)\(raced.errors)")
            let end = raced.text.components(separatedBy: "The end of .build/checks/tsan.log:\n").dropFirst().last
            #expect(end?.contains("WARNING: ThreadSanitizer: data race") == true, "\(raced.text)")
            try package.program("timeout", "\(start); \"$@\"; exit 139")
            let crashed = try await package.run("Scripts/test --only tsan")
            #expect(crashed.status == 1, "\(crashed.text)")
            #expect(crashed.text.contains("the tests of HTTPDNSTests did not run to their end"), "\(crashed.text)")
        }

        #if os(Linux)
        @Test func theFilesOfPkgConfigAreReadInAFolderWithASpace() async throws {
            let package = try Package()
            let library = "\(package.folder.path)/${1#*=}"
            try package.program("clang", "touch \"\(library)\" && echo \"\(library)\"")
            let line = """
                mkdir 'a b' && cp -r Scripts 'a b' && cd 'a b'
                printf '#!/bin/bash\\necho symbol\\n' >Scripts/lib/small-icu-data
                Scripts/lib/build-release --portable beeline && tail -n 1 .build/package/static/libbrotlidec.pc
                """
            let run = try await package.run(line)
            let libraries = "/a\\ b/.build/package/static -lbrotlidec -lbrotlicommon\n"
            #expect(run.status == 0 && run.text.hasSuffix(libraries), "\(run.text)\(run.errors)")
        }

        @Test(
            "Scripts/package fails if the tar archive breaks off or cannot be compressed",
            arguments: ["tar", "gzip"]
        )
        func brokenTarArchive(broken: String) async throws {
            let package = try Package()
            let folder = package.folder
            for name in ["LICENSE", "README.md", "NOTICE"] { try folder.write("\(name)\n", to: name) }
            // In place of a release build and of pages for the program of the build.
            try folder.write("#!/bin/bash\necho '\(folder.path)/bin/beeline'\n", to: "Scripts/lib/build-release")
            try folder.write("#!/bin/bash\ncat >/dev/null\n", to: "Scripts/lib/man-pages")
            for name in ["notices", "package-deb", "package-zips"] {
                try folder.write("#!/bin/bash\necho '\(name)'\n", to: "Scripts/lib/\(name)")
            }
            try package.program("strip", "exit 0")
            try package.program("objdump", "echo 'NEEDED libc.so.6'; echo GLIBC_2.34")
            let edit = "printf '#!/bin/bash\\necho 1.2.3\\n' >bin/beeline && chmod +x bin/beeline Scripts/lib/*"
            try #require(try await package.run(edit).status == 0)
            let line = "SOURCE_DATE_EPOCH=1767225600 Scripts/package --to '\(folder.path)/out'"
            let archive = "out/beeline-1.2.3-linux-$(uname -m).tar.gz"
            let whole = try await package.run("\(line) && tar -tzf \(archive)")
            #expect(whole.status == 0 && whole.text.contains("package-zips"), "\(whole.text)\(whole.errors)")
            #expect(whole.text.contains("/bin/beeline\n"), "\(whole.text)")

            try package.program(broken, "head -c 100 /dev/zero; exit 1")
            let run = try await package.run("rm -r out; \(line); code=$?; ls out; exit $code")
            #expect(run.status == 1 && run.text.isEmpty, "\(run.text)\(run.errors)")
            #expect(run.errors.contains("the tar archive could not be written"), "\(run.errors)")
        }
        #endif

        @Test func anIncompleteEnvironmentOfPythonIsMadeAgain() async throws {
            let package = try Package()
            // A module in place of Python's own, as without python3-venv, and what an interrupted run left.
            let line = """
                mkdir -p .build/idna-data/bin && ln -s /bin/false .build/idna-data/bin/python
                echo 'raise SystemExit("ensurepip is not available")' >venv.py
                PYTHONPATH=$PWD Scripts/update-idna-data
                """
            let run = try await package.run(line)
            #expect(run.status == 1 && run.errors.hasPrefix("ensurepip is not available\n"), "\(run.errors)")
            #expect(run.errors.contains("Debian's package for it is python3-venv\n"), "\(run.errors)")
        }

        @Test func appleCheckSpellsTheNameOfTheFolderAsThePackageManagerDoes() async throws {
            let package = try Package()
            try package.folder.write("Names:\nDirectHTTP: Names\n", to: "Scripts/lib/layers")
            for file in ["Sources/DirectHTTP/File.swift", "Tests/GuideTests/Guide+Apple.swift"] {
                try package.folder.write("#if canImport(Darwin)\n#endif\n", to: file)
            }
            try package.program("swiftc", "echo \"$*\"")
            let clone = "'7 Bee-Line.x'"
            let run = try await package.run(
                "mkdir \(clone) && cp -r Scripts Sources Tests \(clone) && cd \(clone) && Scripts/check-apple"
            )
            #expect(run.status == 0, "\(run.errors)")
            #expect(run.text.contains(" -module-name DirectHTTP -package-name _7_bee_line_x "), "\(run.text)")
        }

        @Test func aWarningAboutTheManifestFailsTheBuildInAFolderWithCapitals() async throws {
            let package = try Package()
            try package.program(
                "swift",
                "[ $1 = --version ] && echo Swift version 6.2 || echo \"warning: 'a[b': a.txt\""
            )
            let run = try await package.run(
                "mkdir 'A[b' && cp -r Scripts 'A[b' && cd 'A[b' && Scripts/test --only build"
            )
            #expect(run.status == 1 && run.text.contains("FAILED  build"), "\(run.text)\(run.errors)")
        }

        @Test func appleCheckNeedsNoGNUSed() async throws {
            let package = try Package()
            try package.folder.write("Names:\nDirectHTTP: Names\n", to: "Scripts/lib/layers")
            let source = "#if canImport(Darwin)\nimport Foundation\n#endif\n"
            try package.folder.write(source, to: "Sources/DirectHTTP/File.swift")
            try package.folder.write(source, to: "Tests/GuideTests/Guide+Apple.swift")
            // A `sed` that refuses GNU's escapes, which BSD's `sed` takes for letters.
            try package.program(
                "sed",
                """
                for argument; do
                    case $argument in *'\\w'* | *'\\n'* | *'\\s'* | *'\\+'*) echo "sed: GNU: $argument" >&2; exit 1 ;; esac
                done
                exec /bin/sed "$@"
                """
            )
            try package.program(
                "swiftc",
                "for argument; do case $argument in */File.swift) cat \"$argument\" ;; esac; done"
            )
            let run = try await package.run("Scripts/check-apple")
            #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
            let turned = "#if true\nimport Foundation\nimport FoundationNetworking\n#endif\nScripts/check-apple: ok\n"
            #expect(run.text == turned)
        }
    }
}
