// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Beeline
import Foundation
import Testing

@testable import BeelineCommand

/// The defaults of the environment and of the configuration file, both given by the tests.
struct DefaultsTests {
    private func load(_ file: String?, _ environment: [String: String] = [:]) throws -> Defaults {
        let path = "/x/beeline/config.json"
        let files = InputFiles(
            contents: { _ in Array((file ?? "").utf8) },
            size: { $0 == path && file != nil ? 1 : nil },
            askPassword: { _ in nil }
        )
        return try Defaults.load(environment: environment.merging(["XDG_CONFIG_HOME": "/x"]) { $1 }, files: files)
    }

    @Test func withoutAnythingNothingIsSet() throws {
        var defaults = try load(nil)
        defaults.environment = [:]
        #expect(defaults == Defaults())
    }

    @Test func everyKeyIsRead() throws {
        let defaults = try load(
            """
            {"dns": ["dnspod", "system"], "jar": "/j.txt", "cacert": "ca.pem", "proxy": "http://p:1", "noproxy": "x",
             "httpdns": false, "user-agent": "u", "allow-local-answers": true, "connect-timeout": 1.5, "max-time": 2}
            """
        )
        var expected = Defaults(dns: ["dnspod", "system"], jar: "/j.txt", cacert: ["/x/beeline/ca.pem"])
        (expected.dnsPlace, expected.dnsFolder) = ("/x/beeline/config.json: dns", "/x/beeline")
        (expected.proxy, expected.noproxy, expected.userAgent) = ("http://p:1", "x", "u")
        (expected.httpdns, expected.allowsLocalAnswers) = (false, true)
        (expected.connectTimeout, expected.maxTime) = (1.5, 2)
        expected.environment = defaults.environment
        #expect(defaults == expected)
    }

    @Test func theEnvironmentWins() throws {
        let file = "{\"dns\": \"dnspod\", \"jar\": \"/file.txt\"}"
        let defaults = try load(file, ["BEELINE_DNS": " doh:https://1.1.1.1/  system ", "BEELINE_JAR": "/env.txt"])
        #expect(defaults.dns == ["doh:https://1.1.1.1/", "system"] && defaults.jar == "/env.txt")
        let empty = try load(file, ["BEELINE_DNS": "", "BEELINE_JAR": ""])
        #expect(empty.dns == ["dnspod"] && empty.jar == "/file.txt")
    }

    /// The upstreams of a command line, with a configuration file in `folder`.
    private func upstreams(
        _ arguments: [String],
        folder: String,
        dns: [String],
        _ environment: [String: String] = [:]
    ) throws -> [UpstreamSpec] {
        let text = "{\"dns\": \(dns)}"
        let files = InputFiles(contents: { _ in Array(text.utf8) }, size: { _ in 1 }, askPassword: { _ in nil })
        let all = environment.merging(["XDG_CONFIG_HOME": folder]) { $1 }
        let defaults = try Defaults.load(environment: all, files: files)
        let command = try #require(
            try BeelineCommand.parseAsRoot(["resolve", "a.test"] + arguments) as? ResolveCommand
        )
        return try ClientConfiguration(command.names.options(), defaults: defaults, files: files).upstreams
    }

    @Test func relativePathsOfTheFilesDNSStartAtItsFolder() throws {
        let folder = try Folder()
        let place = "\(folder.path)/beeline"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        try folder.write("127.0.0.1 a.test\n", to: "beeline/hosts")
        try folder.write("s3cret\n", to: "beeline/secret")
        let specs = [
            "hosts:hosts", "dnspod+https:secret@127.0.0.1", "aliyun:1:secret", "baidu:1:secret", "hosts:\(place)/hosts",
            "volcengine:1:secret@127.0.0.1", "aliyun2:1:secret",
        ]
        let absolute = specs.map { spec in
            spec.replacingOccurrences(of: ":secret", with: ":\(place)/secret")
                .replacingOccurrences(of: "hosts:hosts", with: "hosts:\(place)/hosts")
        }
        let expected = try absolute.map { try UpstreamSpec(parsing: $0) }
        #expect(try upstreams([], folder: folder.path, dns: specs) == expected)
        // On the command line and in the environment, relative paths start in the current folder.
        #expect(throws: CommandFailure.self) {
            try upstreams(["--dns", "hosts:hosts"], folder: folder.path, dns: specs)
        }
        #expect(throws: CommandFailure.self) {
            try upstreams([], folder: folder.path, dns: specs, ["BEELINE_DNS": "hosts:hosts"])
        }
    }

    @Test("an error about an upstream says where it is written")
    func placeOfAnUpstream() {
        let rows: [(arguments: [String], environment: [String: String], place: String)] = [
            (["--dns", "nope"], [:], "--dns"), ([], ["BEELINE_DNS": "nope"], "BEELINE_DNS"),
            ([], [:], "/x/beeline/config.json: dns"),
        ]
        for row in rows {
            let failure = #expect(throws: CommandFailure.self) {
                try upstreams(row.arguments, folder: "/x", dns: ["nope"], row.environment)
            }
            #expect(failure?.message.hasPrefix("\(row.place) \"nope\": write ") == true, "\(failure as Any)")
        }
    }

    @Test(
        "the error for an upstream by name says how to write its address",
        arguments: ["doh:https://dns.example/q", "json:https://dns.example/q", "dot:dns.example"]
    )
    func missingAddress(_ spec: String) {
        let failure = #expect(throws: CommandFailure.self) { try upstreams(["--dns", spec], folder: "/x", dns: []) }
        let start = "--dns \"\(spec)\": the address of dns.example is missing; append it as #ADDR"
        #expect(failure?.status == .usage && failure?.message.hasPrefix(start) == true, "\(failure as Any)")
    }

    @Test("a HOME of another user that cannot be searched is no error, a folder that was chosen is")
    func unreachableHome() throws {
        let files = InputFiles(
            contents: { _ in [] },
            size: { _ in nil },
            askPassword: { _ in nil },
            isHidden: { _ in true },
            isOfOtherUser: { $0 == "/root" }
        )
        #expect(try Defaults.load(environment: ["HOME": "/root"], files: files).dns.isEmpty)
        for environment in [["HOME": "/own"], ["HOME": "/root", "XDG_CONFIG_HOME": "/c"]] {
            let failure = #expect(throws: CommandFailure.self) {
                try Defaults.load(environment: environment, files: files)
            }
            #expect(failure?.status == .readFailed)
        }
    }

    @Test("a file of settings that this user may not read in the HOME of another is no error")
    func unreadableFileOfOther() throws {
        let files = InputFiles(
            contents: { _ in throw CancellationError() },
            size: { _ in 2 },
            askPassword: { _ in nil },
            isHidden: { _ in true },
            isOfOtherUser: { $0 == "/root" }
        )
        #expect(try Defaults.load(environment: ["HOME": "/root"], files: files).dns.isEmpty)
        #expect(Defaults.usablePath("fetch.conf", ["HOME": "/root"], files: files) == nil)
        let own = Defaults.usablePath("fetch.conf", ["HOME": "/own"], files: files)
        #expect(own == "/own/.config/beeline/fetch.conf")
        let failure = #expect(throws: CommandFailure.self) {
            try Defaults.load(environment: ["HOME": "/own"], files: files)
        }
        #expect(failure?.status == .readFailed)
    }

    @Test("a folder in the place of the configuration file is an error, not a missing file")
    func folder() throws {
        let files = InputFiles(
            contents: { _ in [] },
            size: { _ in nil },
            askPassword: { _ in nil },
            isFolder: { _ in true }
        )
        let failure = #expect(throws: CommandFailure.self) {
            try Defaults.load(environment: ["XDG_CONFIG_HOME": "/x"], files: files)
        }
        #expect(failure?.message == "the configuration file /x/beeline/config.json is a folder")
    }

    @Test(arguments: [
        ("{\"dsn\": []}", "unknown key \"dsn\""), ("{\"dns\": 5}", "dns: write a SPEC or an array of them"),
        ("{\"dns\": [5]}", "dns: write a SPEC"), ("{\"httpdns\": \"no\"}", "httpdns: write true or false"),
        ("{\"connect-timeout\": \"3\"}", "connect-timeout: write a number of seconds"),
        ("{\"max-time\": -3}", "config.json: max-time -3: write a number of seconds"),
        ("not JSON", "it is not JSON"), ("[]", "not a JSON object"), ("", "it is not JSON"), ("{", "it is not JSON"),
    ])
    func aWrongFileIsTold(_ file: String, _ says: String) {
        let failure = #expect(throws: CommandFailure.self) { try load(file) }
        #expect(failure?.status == .usage && failure?.message.contains("/x/beeline/config.json") == true)
        #expect(failure?.message.contains(says) == true, "\(failure as Any)")
    }

    @Test func theFileIsWhereXDGSaysOrBelowHome() {
        #expect(Defaults.path("config.json", ["XDG_CONFIG_HOME": "/c", "HOME": "/h"]) == "/c/beeline/config.json")
        #expect(
            Defaults.path("config.json", ["XDG_CONFIG_HOME": "relative", "HOME": "/h"])
                == "/h/.config/beeline/config.json"
        )
        #expect(Defaults.path("config.json", ["HOME": "/h"]) == "/h/.config/beeline/config.json")
        #expect(Defaults.path("config.json", [:]) == nil)
    }
}
