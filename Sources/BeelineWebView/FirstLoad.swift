// SPDX-License-Identifier: Apache-2.0

public import CookieJar
public import Names

/// The cookies of a page for a web view whose cookie store cannot be used: a header for the first request, and a script that
/// runs when a document begins to load, in pages and frames of the same site.
///
/// This is the lesser way, and less than a cookie store does:
/// - HttpOnly cookies go with the first request alone: no script may set them. The second page is logged out where the
///   session's cookie is HttpOnly, unless the site sets it anew.
/// - The web view sends the header to wherever the first request is redirected. Ask for the page's final URL.
/// - Frames of other sites, and the first request of a frame, have no header; the script comes after their first response.
/// - Partitioned cookies and those that are not UTF-8 cannot be written by a script.
public struct FirstLoad: Hashable, Sendable {
    /// The page.
    public let url: HTTPURL
    /// The Cookie field of the first request; nil where the page has no cookies.
    public let cookieHeader: String?
    /// The script, for every frame of the web view, at document start.
    public let script: String

    /// What the page needs of the jar's cookies, as they are now.
    public init(of url: HTTPURL, from jar: CookieJar) {
        self.url = url
        cookieHeader = jar.header(for: url)
        script = jar.siteCookieScript(for: url)
    }
}
