// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// Selects the form of a question by its path. A class, because each question copies it out of a lock.
final class Router: Sendable {
    let message: MessageDialect
    let json: JSONDialect
    let dnspod: DNSPodDialect
    let aliyun: AliyunDialect
    let requiresAccount: Bool

    init(
        message: MessageDialect,
        json: JSONDialect,
        dnspod: DNSPodDialect,
        aliyun: AliyunDialect,
        requiresAccount: Bool
    ) {
        self.message = message
        self.json = json
        self.dnspod = dnspod
        self.aliyun = aliyun
        self.requiresAccount = requiresAccount
    }

    func handle(_ request: ServerRequest) -> Handling {
        guard request.method != .other else {
            var reply = ServerReply.text("only GET, HEAD and POST are supported", status: 405)
            reply.allow = "GET, HEAD, POST"
            return .reply(reply)
        }
        switch request.path {
        case "/dns-query":
            if requiresAccount { return .reply(Self.accountNeeded(.doh)) }
            // Cloudflare serves both forms at this path.
            let isJSON = request.method == .get && request.rawField("dns") == nil && request.rawField("name") != nil
            return isJSON ? json.handle(request) : message.handle(request)
        case "/resolve": return requiresAccount ? .reply(Self.accountNeeded(.json)) : json.handle(request)
        case "/d": return dnspod.handle(request)
        case "/v2/d": return aliyun.handleVersion2(request)
        default: break
        }
        let parts = request.path.split(separator: "/")
        if parts.count == 2, let account = PercentEncoding.decode(parts[0]) {
            switch parts[1] {
            case "d", "sign_d", "resolve", "sign_resolve":
                return aliyun.handle(request, account: account, call: parts[1])
            case "ss": return aliyun.handleSchedule(request, account: account)
            default: break
            }
        }
        return .reply(.text("there is nothing at this path", status: 404))
    }

    private static func accountNeeded(_ form: AccessRecord.Form) -> ServerReply {
        var reply = ServerReply.text("this server requires an account, which this form does not support", status: 403)
        reply.form = form
        return reply
    }
}
