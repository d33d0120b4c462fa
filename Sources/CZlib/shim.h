// SPDX-License-Identifier: Apache-2.0
#include <zlib.h>

// inflateInit2 is a macro, which Swift does not see.
static inline int CZlib_inflateInit2(z_stream *stream, int windowBits) {
    return inflateInit2(stream, windowBits);
}

static inline int CZlib_deflateInit2(z_stream *stream, int windowBits) {
    return deflateInit2(stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY);
}
