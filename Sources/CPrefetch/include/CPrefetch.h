// SPDX-License-Identifier: Apache-2.0

#pragma once

/// Asks the processor for the line of its cache that an address is in, and does not wait for it. Swift has no word for that.
/// Any address will do; nothing is read.
static inline __attribute__((always_inline)) void prefetch_line(const void *_Nonnull address) {
    __builtin_prefetch(address, 0, 3);
}
