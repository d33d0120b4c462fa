// SPDX-License-Identifier: Apache-2.0

#if !canImport(Darwin)
public import BeelineProxy
import Foundation

#if canImport(Musl)
import Musl
#else
import Glibc
#endif

extension BeelineProxy {
    /// Sends every `URLSession` of this process through the proxy: data, upload, download and async tasks, with their
    /// bodies, redirects and cookies as they are.
    ///
    /// ```swift
    /// let proxy = try await BeelineProxy.start(client: client)
    /// proxy.installForProcess()
    /// ```
    ///
    /// Foundation on Linux has no other way: it ignores `connectionProxyDictionary`, and its libcurl reads `http_proxy` and
    /// `https_proxy`, in small letters, from the environment. So it holds for the whole process and for the programs that it
    /// starts. Keep the proxy: it ends with the last reference to it. Call this before the first session is made and before
    /// threads that read the environment run; call it again after `rebind()` found another port.
    ///
    /// `no_proxy` is kept; where there is none, this machine is reached without the proxy.
    public func installForProcess() {
        setenv("http_proxy", urlWithCredentials, 1)
        setenv("https_proxy", urlWithCredentials, 1)
        let environment = ProcessInfo.processInfo.environment
        if (environment["no_proxy"] ?? environment["NO_PROXY"] ?? "").isEmpty {
            setenv("no_proxy", "localhost,127.0.0.1,::1", 1)
        }
    }

    /// Undoes `installForProcess()` for requests that begin afterwards; `no_proxy` stays.
    public func uninstallForProcess() {
        for name in ["http_proxy", "https_proxy"]
        where ProcessInfo.processInfo.environment[name] == urlWithCredentials { unsetenv(name) }
    }
}
#endif
