// SPDX-License-Identifier: Apache-2.0

import Testing

/// Tests in real browsers. They run one after the other because each browser needs several processes and much memory.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct BrowserTests {}
