// SPDX-License-Identifier: Apache-2.0

import Beeline
import Names

extension TLSSettings {
    /// Applies one value of `--ech`, in curl's form. A later value replaces an earlier one. But a list remains in
    /// effect until another list or `false` follows.
    mutating func setECH(_ text: String, _ files: InputFiles) throws(CommandFailure) {
        switch text {
        case "false": (ech, sendsECHGrease) = (.off, false)
        case "grease": (ech, sendsECHGrease) = (.off, true)
        case "true", "hard":
            if case .configured = ech { return }
            ech = text == "true" ? .automatic : .required
        case _ where text.hasPrefix("ecl:"):
            ech = .configured(try Self.echList(String(text.dropFirst(4)), files))
        case _ where text.hasPrefix("pn:"):
            throw CommandFailure(
                .usage,
                "--ech \(text): the public name is part of the configuration that the server publishes, and its certificate "
                    + "must be valid for it"
            )
        default:
            throw CommandFailure(.usage, "--ech \(text): write true, hard, false, grease, ecl:BASE64 or ecl:@FILE")
        }
    }

    /// Parses the list of `ecl:`, or reads it from a file.
    private static func echList(_ text: String, _ files: InputFiles) throws(CommandFailure) -> ECHConfigList {
        let digits: String
        if text.hasPrefix("@") {
            digits = try files.asciiText(String(text.dropFirst())).filter { !$0.isWhitespace }
        } else {
            digits = text
        }
        guard let bytes = Base64.decodePadded(digits) else {
            throw CommandFailure(.usage, "--ech ecl: the list is not base64")
        }
        do {
            return try ECHConfigList(bytes)
        } catch {
            throw CommandFailure(.usage, "--ech ecl: \(error.message)")
        }
    }
}
