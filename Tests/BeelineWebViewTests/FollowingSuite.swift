// SPDX-License-Identifier: Apache-2.0

import BeelineWebView
import CookieJar
import NIOConcurrencyHelpers

/// The jar, the store and the reports of a suite.
protocol FollowingSuite {
    var jar: CookieJar { get }
    var standIn: StandInStore { get }
    var reports: Reports { get }
}

extension FollowingSuite {
    /// A short retry delay, and an interval so long that only notifications cause a read.
    static var configuration: WebCookieFollowing.Configuration {
        var configuration = WebCookieFollowing.Configuration()
        (configuration.retryDelay, configuration.interval) = (.milliseconds(1), .seconds(3600))
        return configuration
    }

    func follow(_ change: (inout WebCookieFollowing.Configuration) -> Void = { _ in }) -> WebCookieFollowing {
        follow(standIn, change)
    }

    func follow(
        _ standIn: StandInStore,
        _ change: (inout WebCookieFollowing.Configuration) -> Void = { _ in }
    ) -> WebCookieFollowing {
        var configuration = Self.configuration
        configuration.onReport = reports.note
        change(&configuration)
        return standIn.store.follow(jar, configuration: configuration)
    }
}

/// The sum of all reports.
final class Reports: Sendable {
    private let sum = NIOLockedValueBox(WebCookieFollowing.Report())

    var total: WebCookieFollowing.Report { sum.withLockedValue { $0 } }

    @Sendable func note(_ report: WebCookieFollowing.Report) {
        sum.withLockedValue { sum in
            sum.intoJar += report.intoJar
            sum.outOfJar += report.outOfJar
            sum.intoStore += report.intoStore
            sum.outOfStore += report.outOfStore
            sum.rehomed += report.rehomed
            sum.refused += report.refused
            sum.unfinished += report.unfinished
            sum.failures += report.failures
        }
    }
}
