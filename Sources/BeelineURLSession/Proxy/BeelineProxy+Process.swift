// SPDX-License-Identifier: Apache-2.0

#if !canImport(Darwin)
public import BeelineProxy
import Foundation
import LibC

extension BeelineProxy {
    /// Sends every `URLSession` of this process through the proxy: data, upload, download and async tasks. Their bodies,
    /// redirects and cookies do not change.
    ///
    /// ```swift
    /// let proxy = try await BeelineProxy.start(client: client)
    /// proxy.installForProcess()
    /// ```
    ///
    /// Foundation on Linux supports no other way: it ignores `connectionProxyDictionary`, and its libcurl reads `http_proxy`
    /// and `https_proxy`, in lower case, from the environment. The setting therefore applies to the whole process and its child
    /// processes. Keep a reference to the proxy: it stops when it is deallocated. Call this before the first session is created
    /// and before other threads read the environment. Call it again if `rebind()` has changed the port.
    ///
    /// A `no_proxy` that is set stays. Otherwise it is set to exclude the local machine.
    public func installForProcess() {
        setenv("http_proxy", urlWithCredentials, 1)
        setenv("https_proxy", urlWithCredentials, 1)
        let environment = ProcessInfo.processInfo.environment
        if (environment["no_proxy"] ?? environment["NO_PROXY"] ?? "").isEmpty {
            setenv("no_proxy", Self.localHosts.joined(separator: ","), 1)
        }
    }

    /// Undoes `installForProcess()` for later requests; `no_proxy` stays.
    public func uninstallForProcess() {
        for name in ["http_proxy", "https_proxy"]
        where ProcessInfo.processInfo.environment[name] == urlWithCredentials { unsetenv(name) }
    }
}
#endif
