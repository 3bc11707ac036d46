/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C++ (Itanium ABI) and Rust (legacy and v0) symbols in readable form. They are qualified names
 * with template arguments ("std::vector<int>::size", "core::fmt::write"). Parameters and return
 * types are dropped, so that overloads are one function, and so are Rust hashes.
 *
 * The library behind it bounds neither its steps nor, on all paths, its memory. So only the namer's
 * process calls it (namer_process.c).
 */
#pragma once

#include "namer/mangled.h"

/* Bytes of the longest readable form: a short symbol can stand for gigabytes. */
#define DEMANGLED_MAX 2048

/* Writes the readable form of @symbol, a string of at most MANGLED_MAX bytes, into @out. May take
 * any time, or end the process. Return: its length in bytes; 0: none, or too long. */
size_t demangle(const char *symbol, char out[DEMANGLED_MAX]);
