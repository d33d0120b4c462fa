// SPDX-License-Identifier: Apache-2.0

import Testing

/// Tests of the built command, one after the other: each runs programs beside the servers that they speak to, and upstreams
/// have little time to answer.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct ProcessTests {}
