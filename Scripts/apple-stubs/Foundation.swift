// SPDX-License-Identifier: Apache-2.0

// What Foundation and Security have on Apple's platforms, Foundation on Linux lacks, and Beeline uses: signatures alone, for
// Scripts/check-apple. They are compiled into the module that is checked.

import Foundation
import FoundationNetworking

// MARK: HTTPCookie

struct HTTPCookieStringPolicy: RawRepresentable, Hashable, Sendable {
    let rawValue: String

    init(rawValue: String) { self.rawValue = rawValue }

    static let sameSiteLax = HTTPCookieStringPolicy(rawValue: "lax")
    static let sameSiteStrict = HTTPCookieStringPolicy(rawValue: "strict")
}

extension HTTPCookiePropertyKey {
    static var sameSitePolicy: HTTPCookiePropertyKey { HTTPCookiePropertyKey("SameSite") }
}

extension HTTPCookie {
    var sameSitePolicy: HTTPCookieStringPolicy? { nil }
}

// MARK: Notifications

extension NotificationCenter {
    struct Stream: AsyncSequence {
        struct AsyncIterator: AsyncIteratorProtocol {
            func next() async -> Notification? { nil }
        }

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }
    }

    func notifications(named name: Notification.Name, object: (any AnyObject & Sendable)? = nil) -> Stream { Stream() }
}

// MARK: RunLoop

final class CFRunLoop {}

func CFRunLoopWakeUp(_ loop: CFRunLoop) {}

extension RunLoop {
    func getCFRunLoop() -> CFRunLoop { CFRunLoop() }
}

// MARK: Security

final class SecTrust {}
final class SecPolicy {}
typealias CFString = NSString
typealias OSStatus = Int32
let errSecSuccess: OSStatus = 0
let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"

func SecPolicyCreateSSL(_ server: Bool, _ hostname: CFString?) -> SecPolicy { SecPolicy() }
func SecTrustSetPolicies(_ trust: SecTrust, _ policies: AnyObject) -> OSStatus { 0 }
func SecTrustEvaluateWithError(_ trust: SecTrust, _ error: UnsafeMutablePointer<NSError?>?) -> Bool { false }

extension URLProtectionSpace {
    var serverTrust: SecTrust? { nil }
}

extension URLCredential {
    convenience init(trust: SecTrust) { self.init(user: "", password: "", persistence: .none) }
}
