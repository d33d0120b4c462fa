// SPDX-License-Identifier: Apache-2.0
#include <zlib.h>

// inflateInit2 is a macro, which Swift does not see.
static inline int CZlib_inflateInit2(z_stream *stream, int windowBits) {
    return inflateInit2(stream, windowBits);
}
