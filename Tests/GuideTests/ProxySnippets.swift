// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineProxy
import BeelineURLSession
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

// The code of BeelineProxy's guide, compiled; see GuideSnippets.swift.

func firstProxy() async throws {
    let client = try BeelineClient()
    let proxy = try await BeelineProxy.start(client: client)
    print(proxy.url)  // http://127.0.0.1:49152
    await proxy.stop()
}

func proxyInApp(_ client: BeelineClient) async throws {
    var configuration = ProxyConfiguration()
    configuration.credentials = .token()
    let proxy = try await BeelineProxy.start(configuration, client: client)
    await proxy.stop()
}

#if !canImport(Darwin)
func sessions(_ proxy: BeelineProxy, _ url: URL) async throws {
    proxy.installForProcess()  // before the first session
    let (data, _) = try await URLSession.shared.data(from: url)
    print(data)
}
#endif

func gateway(_ client: BeelineClient) async throws {
    var configuration = ProxyConfiguration()
    configuration.gatewayHosts = ["live.example.com", "cdn.example.com"]
    let proxy = try await BeelineProxy.start(configuration, client: client)
    let live = try HTTPURL("https://live.example.com/a/index.m3u8")
    if let local = try proxy.gateway?.localURL(for: live) {
        print(local)  // http://127.0.0.1:49152/TOKEN/https/live.example.com/a/index.m3u8
    }
    await proxy.stop()
}
