/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C++ (Itanium ABI) and Rust (legacy and v0) symbols as a person writes them. They are qualified
 * names with template arguments ("std::vector<int>::size", "core::fmt::write"). Parameters and
 * return types are dropped, so that overloads are one function, and so are Rust hashes. Compilers'
 * clones ("f.cold", "f.isra.0", "f.part.0") are the function that they were cut from. Other symbols
 * stay as they are.
 */
#pragma once

#include "base/buf.h"

#define DEMANGLE_INPUT_MAX                                                                         \
    1024 /* bytes; libiberty recurses by length: longer symbols stay mangled */
#define DEMANGLE_OUTPUT_MAX                                                                        \
    2048 /* bytes; a short symbol can stand for gigabytes: then it stays mangled */

/* Appends the readable form of @symbol to @out (not yet clean text). Thread: any. */
void demangle(struct span symbol, struct buf *out);
