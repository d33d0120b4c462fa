// SPDX-License-Identifier: Apache-2.0

import Testing

/// Tests of the built command. They run one after the other, because each runs programs and servers, and upstreams would
/// miss their time limits on a busy machine.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct ProcessTests {}
