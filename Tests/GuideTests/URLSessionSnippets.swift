// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineURLSession
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

// The code of BeelineURLSession's guide, compiled; see GuideSnippets.swift.

func carriedSession(_ url: URL) async throws -> (Data, URLResponse) {
    let client = try BeelineClient()
    let session = URLSession(configuration: .beeline(client))
    let (data, response) = try await session.data(from: url)
    return (data, response)
}

/// A library above URLSession whose initializer takes a configuration.
struct Library {
    let session: URLSession

    init(configuration: URLSessionConfiguration) { session = URLSession(configuration: configuration) }
}

func libraryAbove(_ client: BeelineClient) -> Library {
    let configuration = URLSessionConfiguration.beeline(client)
    let library = Library(configuration: configuration)  // Alamofire: Session(configuration: configuration)
    return library
}

func processWide(_ client: BeelineClient) -> URLSession {
    BeelineURLProtocol.use(client)
    let configuration = URLSessionConfiguration.default
    configuration.protocolClasses = [BeelineURLProtocol.self] + (configuration.protocolClasses ?? [])
    return URLSession(configuration: configuration)
}

func choice(_ client: BeelineClient, _ url: URL) -> (URLSessionConfiguration, URLRequest) {
    var settings = BeelineURLProtocol.Settings()
    settings.hosts = ["api.example.com", "*.cdn.example.com"]
    settings.accepts = { $0.httpMethod != "PUT" }
    settings.log = { print($0) }
    var request = URLRequest(url: url)
    request.bypassesBeeline = true  // this request goes without Beeline
    return (.beeline(client, settings: settings), request)
}

func storageIsTruth(_ client: BeelineClient) -> URLSession {
    var settings = BeelineURLProtocol.Settings()
    settings.truth = .storage
    let session = URLSession(configuration: .beeline(client, settings: settings))
    return session
}

func directForm(client: BeelineClient, request: URLRequest, session: URLSession) async throws -> Data {
    let direct = try await request.direct(via: client.resolver)
    let (data, response) = try await session.data(for: direct.request)
    direct.receive(response)  // stores the cookies under the name
    return data
}
