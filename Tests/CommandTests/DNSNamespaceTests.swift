// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
import Foundation
import Testing

extension ProcessTests {
    /// A machine of its own, whose resolv.conf names `beeline dns`: a network namespace with loopback only, and a mount namespace.
    /// Programs find a site there by a name that only the server knows.
    struct DNSNamespaceTests {
        private static func has(_ programs: String...) -> Bool {
            programs.allSatisfy { FileManager.default.isExecutableFile(atPath: "/usr/bin/\($0)") }
        }

        private static let hasNamespaces: Bool = {
            let probe = Process()
            probe.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
            probe.arguments = ["-rmn", "/bin/sh", "-c", "ip link set lo up"]
            probe.standardError = FileHandle.nullDevice
            guard (try? probe.run()) != nil else { return false }
            probe.waitUntilExit()
            return probe.terminationStatus == 0
        }()

        /// Starts the server and a site, and runs the client, whose script is the second argument.
        private static let machine = """
            set -eu
            ip link set lo up
            ip address add 198.51.100.7/32 dev lo
            for file in resolv.conf nsswitch.conf; do
                [ -e /etc/$file ] || exit 90
                mount --bind $file /etc/$file
            done
            "$1" dns --listen 127.0.0.1:53 --zone door.zone --dns dns:127.0.0.2 >listening.txt 2>errors.txt &
            door=$!
            (cd site && exec python3 -m http.server --bind 198.51.100.7 80) >site.log 2>&1 &
            site=$!
            trap 'kill $door $site' EXIT
            tries=0
            until [ -s listening.txt ] && python3 -c 'import socket; socket.create_connection(("198.51.100.7", 80))'; do
                tries=$((tries + 1))
                [ $tries -lt 500 ] || exit 91
                kill -0 $door || exit 92
                sleep 0.02
            done 2>/dev/null
            sh -c "$2" || echo "exit code $?"
            # What the site has seen.
            echo; cat site.log
            """

        private static let zone = """
            $ORIGIN door.example.
            $TTL 300
            @ SOA ns hostmaster 1 2h 15m 2w 5m
            site A 198.51.100.7
            www CNAME site

            """

        /// The output of a client's script on such a machine.
        private static func output(of script: String, in folder: Folder) async throws -> String {
            try folder.write("nameserver 127.0.0.1\n", to: "resolv.conf")
            try folder.write("hosts: files dns\n", to: "nsswitch.conf")
            try folder.write(zone, to: "door.zone")
            let site = "\(folder.path)/site"
            try FileManager.default.createDirectory(atPath: site, withIntermediateDirectories: true)
            try folder.write("<title>the site</title><p id=words>found by the door</p>\n", to: "site/index.html")
            let run = try await CommandRun.run(
                "/usr/bin/unshare",
                ["-rmn", "/bin/sh", "-c", machine, "machine", CommandRun.beeline, script],
                in: folder
            )
            return "\(run.text)\(run.errors)\(run.status == 0 ? "" : "status \(run.status)")"
        }

        /// Prints the addresses of a host as `getaddrinfo` of the C library finds them.
        private static let lookUp = """
            #include <arpa/inet.h>
            #include <netdb.h>
            #include <stdio.h>
            int main(int count, char **words) {
                struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *list;
                int code = getaddrinfo(words[1], NULL, &hints, &list);
                if (code) return printf("%s: %s\\n", words[1], gai_strerror(code)), 1;
                for (; list; list = list->ai_next) {
                    char text[64];
                    if (list->ai_family != AF_INET) continue;
                    inet_ntop(AF_INET, &((struct sockaddr_in *)list->ai_addr)->sin_addr, text, sizeof text);
                    printf("%s %s\\n", words[1], text);
                }
                return 0;
            }
            """

        @Test(
            "the stub resolvers of glibc and musl find names, and learn of names that do not exist",
            .enabled(if: hasNamespaces && has("musl-gcc", "python3"), "musl-tools or namespaces are missing")
        )
        func stubResolvers() async throws {
            let folder = try Folder()
            try folder.write(Self.lookUp, to: "lookup.c")
            let script = """
                musl-gcc -static -o musl lookup.c
                for name in site.door.example www.door.example none.door.example; do
                    ./musl $name
                    getent ahostsv4 $name || echo "$name: not found by glibc"
                done
                """
            let text = try await Self.output(of: script, in: folder)
            for words in [
                "site.door.example 198.51.100.7\n", "www.door.example 198.51.100.7\n",
                "none.door.example: Name does not resolve\n", "198.51.100.7    STREAM site.door.example\n",
                "none.door.example: not found by glibc\n",
            ] {
                #expect(text.contains(words), "\(words): \(text)")
            }
        }

        @Test(
            "curl and git fetch from a site whose name only the server knows",
            .enabled(if: hasNamespaces && has("curl", "git", "python3"), "programs or namespaces are missing")
        )
        func curlAndGit() async throws {
            let folder = try Folder()
            let script = """
                git init -q --bare site/repo.git
                git -c user.name=a -c user.email=a@a.test -C site/repo.git commit-tree -m one \
                    $(git -C site/repo.git hash-object -w -t tree /dev/null) >commit.txt
                git -C site/repo.git update-ref refs/heads/found $(cat commit.txt)
                git -C site/repo.git update-server-info
                curl -q -sS http://www.door.example/
                git ls-remote http://site.door.example/repo.git
                curl -q -sS http://none.door.example/ || true
                """
            let text = try await Self.output(of: script, in: folder)
            #expect(text.contains("found by the door"), "\(text)")
            #expect(text.contains("\trefs/heads/found\n"), "\(text)")
            #expect(text.contains("Could not resolve host: none.door.example"), "\(text)")
        }

        @Test(
            "Chromium loads a page from a site whose name only the server knows",
            .enabled(if: hasNamespaces && has("chromium", "python3"), "chromium or namespaces are missing")
        )
        func chromium() async throws {
            let folder = try Folder()
            let script = """
                chromium --headless=new --no-sandbox --disable-gpu --disable-background-networking \
                    --disable-component-update --no-first-run --user-data-dir=$HOME/profile \
                    --dump-dom http://www.door.example/ 2>/dev/null
                """
            let text = try await Self.output(of: script, in: folder)
            #expect(text.contains("<p id=\"words\">found by the door</p>"), "\(text)")
        }

        @Test(
            "Firefox loads a page from a site whose name only the server knows",
            .enabled(if: hasNamespaces && has("firefox-esr", "python3"), "firefox or namespaces are missing")
        )
        func firefox() async throws {
            let folder = try Folder()
            let script = """
                mkdir profile
                timeout 60 firefox-esr --headless --no-remote --profile $HOME/profile \
                    --screenshot $HOME/page.png http://www.door.example/by-firefox 2>/dev/null
                """
            let text = try await Self.output(of: script, in: folder)
            #expect(text.contains("GET /by-firefox"), "\(text)")
            #expect(folder.has("page.png"), "\(text)")
        }
    }
}
#endif
