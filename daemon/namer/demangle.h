/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C++ (Itanium ABI) and Rust (legacy and v0) symbols in readable form. They are qualified names
 * with template arguments ("std::vector<int>::size", "core::fmt::write"). Parameters, return types
 * and Rust's hashes are dropped, so overloads become one function.
 *
 * The library limits neither its time nor, in some cases, its memory. So only the namer's process
 * calls it (namer_process.c).
 */
#pragma once

#include "namer/mangled.h"

/* Bytes of the longest readable form: without a limit, a short symbol can give gigabytes of text.
 */
#define DEMANGLED_MAX 2048

/* Writes the readable form of @symbol, a string of at most MANGLED_MAX bytes, into @out. May take
 * any time, or end the process. Returns its length in bytes; 0 if there is none, or if it is too
 * long. */
size_t demangle(const char *symbol, char out[DEMANGLED_MAX]);
