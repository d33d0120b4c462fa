// SPDX-License-Identifier: Apache-2.0
// The entry point of libFuzzer, which clang's runtime exports for programs with their own main function.
#pragma once
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*callback)(const uint8_t *data, size_t size));
