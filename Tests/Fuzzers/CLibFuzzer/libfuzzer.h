// SPDX-License-Identifier: Apache-2.0
// The entry point of libFuzzer, which clang's runtime exports for programs that have a main function of their own.
#pragma once
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*callback)(const uint8_t *data, size_t size));
