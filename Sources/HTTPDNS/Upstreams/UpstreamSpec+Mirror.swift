// SPDX-License-Identifier: Apache-2.0

// A program may print its configuration, which contains these types.

extension UpstreamSpec: CustomReflectable {
    /// Shows the kind, the account and the address in `print` and `dump`, without secrets.
    public var customMirror: Mirror {
        let children: KeyValuePairs<String, Any> =
            switch kind {
            case .dnspod(let form, let endpoints, _): ["dnspod": form, "at": endpoints]
            case .aliyun(let account, _, _): ["aliyun": account]
            case .aliyun2(let account, _, _, _): ["aliyun2": account]
            case .baidu(let account, _, let endpoints, _): ["baidu": account, "at": endpoints]
            case .volcengine(let account, _, let endpoints, _): ["volcengine": account, "at": endpoints]
            case .doh(let url, let addresses, _): ["doh": url, "at": addresses]
            case .json(let url, let addresses): ["json": url, "at": addresses]
            case .dot(let host, let addresses, let port): ["dot": host, "port": port, "at": addresses]
            case .dns(let servers): ["dns": servers]
            case .system: ["system": true]
            case .hosts(let table): ["hosts": table]
            case .hostsFile(let path): ["hosts": path]
            }
        return Mirror(self, children: children, displayStyle: .struct)
    }
}

extension DNSPodForm: CustomReflectable {
    /// Shows the kind in `print` and `dump`, without the account's key or token.
    public var customMirror: Mirror {
        let kind =
            switch kind {
            case .plain: "plain"
            case .aes: "aes"
            case .token: "token"
            }
        return Mirror(self, children: ["kind": kind], displayStyle: .struct)
    }
}

extension AliyunEncryption: CustomReflectable {
    /// Hides the key from `print` and `dump`.
    public var customMirror: Mirror { Mirror(self, children: [:], displayStyle: .enum) }
}
