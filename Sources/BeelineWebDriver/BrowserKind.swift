// SPDX-License-Identifier: Apache-2.0

/// A supported browser.
public enum BrowserKind: String, Hashable, Sendable, CaseIterable {
    /// Chromium or Chrome, controlled by chromedriver. All its cookies can be read and set at any time.
    case chromium
    /// Firefox, controlled by its built-in WebDriver BiDi. All its cookies can be read and set at any time.
    case firefox
    /// WebKitGTK's MiniBrowser, controlled by WebKitWebDriver. Its driver shows only the cookies of the current page.
    case webKit = "webkit"

    /// The Debian packages that it needs.
    var packages: [String] {
        switch self {
        case .chromium: ["chromium", "chromium-driver"]
        case .firefox: ["firefox-esr"]
        case .webKit: ["webkit2gtk-driver"]
        }
    }

    /// The browser's common name, for messages.
    package var title: String {
        switch self {
        case .chromium: "Chromium"
        case .firefox: "Firefox"
        case .webKit: "WebKitGTK's MiniBrowser"
        }
    }
}
