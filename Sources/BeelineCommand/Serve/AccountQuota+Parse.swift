// SPDX-License-Identifier: Apache-2.0

import BeelineServer

extension AccountQuota {
    /// Reads values of `--account-quota`: `ID=N/s`, `ID=N/d` or `ID=N/s,N/d`.
    static func parse(_ texts: [String]) throws(CommandFailure) -> [String: AccountQuota] {
        var quotas: [String: AccountQuota] = [:]
        for text in texts {
            let parts = text.split(separator: "=", maxSplits: 1)
            var quota = AccountQuota()
            for limit in parts.count == 2 ? parts[1].split(separator: ",", omittingEmptySubsequences: false) : [] {
                guard let number = Int(limit.dropLast(2)), (1...1_000_000_000).contains(number) else {
                    throw fault(text)
                }
                switch limit.suffix(2) {
                case "/s" where quota.perSecond == nil: quota.perSecond = number
                case "/d" where quota.perDay == nil: quota.perDay = number
                default: throw fault(text)
                }
            }
            guard quota != AccountQuota(), quotas.updateValue(quota, forKey: String(parts[0])) == nil else {
                throw fault(text)
            }
        }
        return quotas
    }

    private static func fault(_ text: String) -> CommandFailure {
        CommandFailure(.usage, "--account-quota \"\(text)\": write ID=N/s, ID=N/d or ID=N/s,N/d, once for each account")
    }
}
