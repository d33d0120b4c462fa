// SPDX-License-Identifier: Apache-2.0

import Names

/// Resolves the conflict with Foundation's `Host`.
typealias Host = Names.Host
