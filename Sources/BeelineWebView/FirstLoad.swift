// SPDX-License-Identifier: Apache-2.0

public import CookieJar
public import Names

/// The cookies of a page for a web view without a usable cookie store: a header for the first request, and a script that runs
/// at document start in pages and frames of the same site.
///
/// It does less than a cookie store:
/// - HttpOnly cookies are sent with the first request only, because a script cannot set them. If the session cookie is
///   HttpOnly, the second page is logged out unless the site sets the cookie again.
/// - The web view sends the header to every redirect target of the first request. Load the final URL of the page.
/// - Frames of other sites, and the first request of each frame, have no header. The script runs after their first response.
/// - A script cannot set Partitioned cookies or cookies that are not UTF-8.
public struct FirstLoad: Hashable, Sendable {
    /// The URL of the page.
    public let url: HTTPURL
    /// The Cookie field of the first request; `nil` if there are no cookies for the page.
    public let cookieHeader: String?
    /// The script. Run it at document start in every frame of the web view.
    public let script: String

    /// Creates the header and script from the current cookies of the jar.
    public init(of url: HTTPURL, from jar: CookieJar) {
        self.url = url
        cookieHeader = jar.header(for: url)
        script = jar.siteCookieScript(for: url)
    }

    /// Whether the source of a script is that of an earlier first load.
    static func isScript(_ source: String) -> Bool { source.hasPrefix("(function(){\nvar mark=\"beeline-") }
}
