// SPDX-License-Identifier: Apache-2.0

#include "CBuildInfo.h"

// A C macro, because the package manager gives Swift code no values.
#ifndef BEELINE_BUILD
#define BEELINE_BUILD ""
#endif

const char *beeline_build_info(void) { return BEELINE_BUILD; }
