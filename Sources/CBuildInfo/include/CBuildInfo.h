// SPDX-License-Identifier: Apache-2.0

#pragma once

/// What a release build consists of: items `NAME=VERSION`, separated by semicolons. Empty in other builds.
const char *_Nonnull beeline_build_info(void);
