// SPDX-License-Identifier: Apache-2.0

import Testing

/// Tests in real browsers, one after the other: each of them is more than one process and much memory.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct BrowserTests {}
