// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// What a throw-away profile of Firefox is set to (`user.js`).
enum FirefoxPreferences {
    /// The text of the file.
    static func text(proxy: Endpoint?) -> String {
        var values: [(String, JSONValue)] = [
            // Nothing is shown, asked or reported before the first page.
            ("browser.aboutwelcome.enabled", false),
            ("browser.shell.checkDefaultBrowser", false),
            ("browser.startup.page", .number(0)),
            ("browser.startup.homepage_override.mstone", "ignore"),
            ("datareporting.policy.dataSubmissionEnabled", false),
            ("toolkit.telemetry.reportingpolicy.firstRun", false),
            ("termsofuse.bypassNotification", true),
            // Names are the proxy's affair.
            ("network.trr.mode", .number(5)),
            ("network.proxy.type", .number(proxy == nil ? 0 : 1)),
        ]
        if let proxy {
            for scheme in ["http", "ssl"] {
                values.append(("network.proxy.\(scheme)", .string("\(proxy.address)")))
                values.append(("network.proxy.\(scheme)_port", .number(proxy.port)))
            }
        }
        return values.map { "user_pref(\(JSONText.quoted($0)), \($1.text));\n" }.joined()
    }
}
