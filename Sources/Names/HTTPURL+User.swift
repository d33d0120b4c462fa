// SPDX-License-Identifier: Apache-2.0

extension HTTPURL {
    /// The percent-encoded user and password as they stand in a URL, `user:password@`; empty if there is no user.
    package var userInfo: String {
        guard let user else { return "" }
        let password = password.map { ":" + PercentEncoding.encode($0, keeping: .userInfo) } ?? ""
        return PercentEncoding.encode(user, keeping: .userInfo) + password + "@"
    }

    /// The text of the URL with its user and password, which ``description`` leaves out. Keep it out of logs and errors.
    package var textWithUser: String {
        let start = "\(origin.scheme.name)://"
        return "\(start)\(userInfo)\(description.dropFirst(start.count))"
    }
}
