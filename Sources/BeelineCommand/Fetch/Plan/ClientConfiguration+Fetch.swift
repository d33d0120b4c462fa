// SPDX-License-Identifier: Apache-2.0

import Beeline

extension ClientConfiguration {
    /// Makes the client configuration for `fetch`.
    init(_ command: FetchArguments, defaults: Defaults, files: InputFiles) throws(CommandFailure) {
        try self.init(command.names, defaults: defaults, files: files)
        let connection = command.connection
        if connection.noHttpdns { isHTTPDNSEnabled = false }
        for text in connection.resolve { try pin(text, command.names.families) }
        // As in curl, options win. Here the file adds to the system's roots, as --cacert does.
        let variable = "CURL_CA_BUNDLE"
        if command.names.cacert.isEmpty, defaults.cacert.isEmpty, command.tls.values.rootFolders.isEmpty,
            !command.tls.values.insecure, let path = defaults.environment[variable], !path.isEmpty
        {
            try tls.trust(path, option: variable, files)
        }
        // As in curl, an empty value is none.
        tls.keyLogFile = defaults.environment["SSLKEYLOGFILE"].flatMap { $0.isEmpty ? nil : $0 }
        tls = try TLSSettings(command.tls.values, over: tls, files)
        switch command.message.version {
        case .negotiated: break
        case .http10, .http11: tls.offersHTTP2 = false
        case .http2PriorKnowledge: (tls.requiresHTTP2, engine.usesHTTP2PriorKnowledge) = (true, true)
        }
        try apply(command.socket)
        // curl's limits for the head of a response.
        (engine.maxHeadBytes, engine.maxHeadFields) = (300 << 10, 5_000)
        limits.connect =
            try Duration(seconds: connection.connectTimeout ?? defaults.connectTimeout, option: "--connect-timeout")
            ?? limits.connect
        // As in curl, `-m` limits the whole transfer. There is no idle limit, because a stream may pause for a long
        // time.
        limits.idle = nil
        limits.total = try Duration(seconds: command.transfer.maxTime ?? defaults.maxTime, option: "-m")
        decodesContent = command.request.compressed
    }
}
