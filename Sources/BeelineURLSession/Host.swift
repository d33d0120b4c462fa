// SPDX-License-Identifier: Apache-2.0

import Names

/// Foundation has a `Host` too.
typealias Host = Names.Host
