/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Examines the spelling of symbols: which are mangled, and which are parts that a compiler cut off
 * a function. Nothing here demangles. Pure; thread: any.
 */
#pragma once

#include "base/span.h"

/* Bytes of the longest symbol that is demangled: libiberty recurses by length. */
#define MANGLED_MAX 1024

/* Cuts the suffixes of compilers' clones ("f.cold", "f.isra.0", "f.part.0") off @symbol: a clone
 * is the function that it was cut from. Points into @symbol. */
struct span symbol_without_clone(struct span symbol);
/* Returns true if @symbol may be mangled by C++ (Itanium ABI) or Rust (legacy and v0), and is no
 * longer than MANGLED_MAX. */
bool symbol_is_mangled(struct span symbol);
