// SPDX-License-Identifier: Apache-2.0

import Beeline

/// Makes the transfers of a part of a command line, one at a time. Each URL has its uploads. For each upload, the
/// patterns in the URL are expanded.
struct TransferQueue {
    private let plan: FetchPlan
    private let files: InputFiles
    /// The number of URLs taken so far.
    private var number = 0
    private var uploads = Expansions(nil)
    private var urls = Expansions(nil)
    private var upload: URLPattern.Expansion?

    init(_ plan: FetchPlan, files: InputFiles = .real) {
        self.plan = plan
        self.files = files
    }

    /// Returns the next transfer; nil after the last one. A URL that cannot be requested makes a transfer that fails.
    ///
    /// - Throws: ``CommandFailure`` if a pattern or an option is malformed, so that the rest of the command line cannot
    ///   be carried out either.
    mutating func next() throws(CommandFailure) -> Transfer? {
        while true {
            if let url = urls.next() { return try transfer(url) }
            if let next = uploads.next() {
                upload = next
                urls = Expansions(try urlPattern())
                continue
            }
            guard number < plan.command.urls.count else { return nil }
            upload = nil
            number += 1
            // As in curl, `-T ""` uploads nothing to its URL.
            let uploadFiles = plan.command.request.uploadFile
            if number <= uploadFiles.count, !uploadFiles[number - 1].isEmpty {
                uploads = Expansions(try pattern(uploadFiles[number - 1]))
            } else {
                urls = Expansions(try urlPattern())
            }
        }
    }

    /// The current URL.
    private var argument: URLArgument { plan.command.urls[number - 1] }

    private func urlPattern() throws(CommandFailure) -> URLPattern {
        argument.isFromFile ? URLPattern(literal: argument.text) : try pattern(argument.text)
    }

    private func pattern(_ text: String) throws(CommandFailure) -> URLPattern {
        plan.command.transfer.globOff ? URLPattern(literal: text) : try URLPattern(text)
    }

    private func transfer(_ url: URLPattern.Expansion) throws(CommandFailure) -> Transfer {
        let parsed = Result { () throws(CommandFailure) in
            try plan.urlPlan.url(url.text, upload: upload?.text)
        }
        let (request, body) = try plan.draft.request(upload: upload?.text)
        var transfer = Transfer(
            number: number - 1,
            text: url.text,
            url: parsed,
            request: request,
            body: body,
            output: try output(url, parsed)
        )
        transfer.upload = upload?.text
        do throws(CommandFailure) {
            let (draft, login) = (plan.draft, plan.login)
            let url = try parsed.get()
            if let path = upload?.text, path != "-", path != ".", files.isFolder(path) {
                throw CommandFailure(.readFailed, "-T: \(path) is a folder")
            }
            try checkFamily(of: url)
            transfer.request.authority = request.authority ?? Self.typedAuthority(of: transfer.text, url)
            transfer.options = try draft.options(
                for: url,
                body: body,
                plan.command,
                login: login,
                files: files
            )
        } catch {
            transfer.url = .failure(error)
        }
        transfer.resume = plan.resume
        return transfer
    }

    /// Fails for an address that `-4` or `-6` excludes, because no resolver is asked for it.
    private func checkFamily(of url: HTTPURL) throws(CommandFailure) {
        let families = plan.client.resolver.families
        guard let address = url.host.address, !families.contains(Families(address.family)),
            plan.client.routing(to: url.origin) == .resolve
        else { return }
        let option = families == .v6 ? "-6" : "-4"
        throw CommandFailure(.connectFailed, "\(url.origin.serialized): \(option) excludes \(address)")
    }

    /// The Host for a domain that is typed with capital letters, which curl sends as typed; nil for other hosts.
    private static func typedAuthority(of text: String, _ url: HTTPURL) -> String? {
        guard url.host.address == nil, let host = URLParts(text)["host"], host != url.host.text,
            host.utf8.allSatisfy({ $0 < 0x80 }), host.lowercased() == url.host.text
        else { return nil }
        return host + url.origin.authority.dropFirst(host.count)
    }

    private func output(
        _ expansion: URLPattern.Expansion,
        _ url: Result<HTTPURL, CommandFailure>
    ) throws(CommandFailure) -> Transfer.Output {
        let options = plan.command.output
        let given = number <= options.destinations.count ? options.destinations[number - 1] : nil
        switch given ?? (options.allRemoteNames || argument.isFromFile ? .remoteName : .standardOutput) {
        case .nothing: return .nothing
        case .file("-"): return .standardOutput(isNamed: true)
        case .standardOutput: return .standardOutput(isNamed: false)
        case .file(let name):
            return .file(try OutputName.expand(name, [expansion] + (upload.map { [$0] } ?? [])))
        case .remoteName:
            return .remoteFile((try? url.get()).map { OutputName.remote(expansion.text, $0) } ?? OutputName.fallback)
        }
    }

    /// Goes through the texts of a pattern.
    private struct Expansions {
        private let pattern: URLPattern?
        private var index: Int64 = 0

        init(_ pattern: URLPattern?) { self.pattern = pattern }

        mutating func next() -> URLPattern.Expansion? {
            guard let pattern, index < pattern.count else { return nil }
            defer { index += 1 }
            return pattern.text(at: index)
        }
    }
}
