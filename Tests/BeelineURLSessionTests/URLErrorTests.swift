// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineURLSession
import Foundation
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
}
