// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import BeelineURLSession
import Foundation
import HTTPTypes
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("URLError: the code for each failure of a request")
struct URLErrorTests {
    static let codes: [(BeelineError.Code, URLError.Code)] = [
        (.malformedResponse, .badServerResponse), (.unsupportedVersion, .badServerResponse),
        (.responseTooLarge, .dataLengthExceedsMaximum), (.undecodableBody, .cannotDecodeContentData),
        (.unresolved, .cannotFindHost), (.connectFailed, .cannotConnectToHost), (.connectTimeout, .timedOut),
        (.connectionLost, .networkConnectionLost), (.interceptorFailed, .unknown),
    ]

    @Test("the code is the one that URLSession has for the cause", arguments: codes)
    func code(of failure: BeelineError.Code, is expected: URLError.Code) {
        #expect(URLError(BeelineError(failure, "no"), for: nil).code == expected)
    }

    @Test("the error of a body that breaks off names the origin", arguments: [false, true])
    func brokenBody(hasDelegate: Bool) async throws {
        let lab = try await SessionLab { _ in
            Reply(fields: [.contentLength: "100"], body: ["half"], ending: .hangUp)
        }
        let url = try lab.openURL("/cut")
        let error: URLError?
        if hasDelegate {
            let recorder = Recorder()
            lab.session(delegate: recorder).dataTask(with: url).resume()
            guard case .failure(let failure) = try await recorder.end().end else {
                Issue.record("the task has no error")
                return await lab.stop()
            }
            error = failure as? URLError
        } else {
            error = await #expect(throws: URLError.self) { try await lab.session().text(url) }
        }
        #expect(error?.code == .networkConnectionLost)
        #expect(error?.localizedDescription.hasPrefix("http://localhost:\(lab.open.port): ") == true)
        await lab.stop()
    }
}
