// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// The preferences of a temporary Firefox profile (`user.js`).
enum FirefoxPreferences {
    /// Returns the text of the file.
    static func text(proxy: Endpoint?) -> String {
        var values: [(String, JSONValue)] = [
            // Disable welcome pages, prompts and telemetry.
            ("browser.aboutwelcome.enabled", false),
            ("browser.shell.checkDefaultBrowser", false),
            ("browser.startup.page", .number(0)),
            ("browser.startup.homepage_override.mstone", "ignore"),
            ("datareporting.policy.dataSubmissionEnabled", false),
            ("toolkit.telemetry.reportingpolicy.firstRun", false),
            ("termsofuse.bypassNotification", true),
            // Disable DNS over HTTPS; the proxy resolves names.
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
