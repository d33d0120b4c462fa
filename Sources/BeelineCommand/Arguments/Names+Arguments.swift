// SPDX-License-Identifier: Apache-2.0

import Names

extension HTTPURL {
    /// Parses an argument as a URL. The default scheme is https.
    init(argument text: String) throws(CommandFailure) {
        do throws(NameError) {
            self = try HTTPURL(text.hasScheme ? text : "https://" + text)
        } catch {
            throw CommandFailure(url: error)
        }
    }
}

extension Endpoint {
    /// Parses the value of an option, an address with or without a port.
    init(_ text: String, defaultPort: UInt16, option: String) throws(CommandFailure) {
        do throws(NameError) {
            self = try Endpoint(parsing: text, defaultPort: defaultPort)
        } catch {
            throw CommandFailure(.usage, "\(option): \(error.message)")
        }
    }
}
