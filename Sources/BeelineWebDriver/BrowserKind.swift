// SPDX-License-Identifier: Apache-2.0

/// A browser that can be driven.
public enum BrowserKind: String, Hashable, Sendable, CaseIterable {
    /// Chromium or Chrome, by chromedriver. Its cookies can be had and set at any time.
    case chromium
    /// Firefox, by WebDriver BiDi, which it speaks itself. Its cookies can be had and set at any time.
    case firefox
    /// WebKitGTK's MiniBrowser, by WebKitWebDriver. Its driver shows the cookies of the page that it is on, and no others.
    case webKit = "webkit"

    /// The Debian packages that it takes.
    var packages: [String] {
        switch self {
        case .chromium: ["chromium", "chromium-driver"]
        case .firefox: ["firefox-esr"]
        case .webKit: ["webkit2gtk-driver"]
        }
    }

    /// The name that people know it by, for messages.
    public var title: String {
        switch self {
        case .chromium: "Chromium"
        case .firefox: "Firefox"
        case .webKit: "WebKitGTK's MiniBrowser"
        }
    }
}
