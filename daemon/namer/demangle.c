/* SPDX-License-Identifier: Apache-2.0 */
#include "namer/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>

/*
 * The library's callback forms pass the text on piece by piece and allocate nothing for C++. When
 * the text gets too long, longjmp() leaves the library, because there is no other way to stop it.
 */
struct demangled {
    char *text; /* [DEMANGLED_MAX] */
    size_t n;
    jmp_buf too_long;
};

static void demangle_piece(const char *piece, size_t n, void *opaque)
{
    struct demangled *d = opaque;

    if (!n)
        return; /* an empty piece may be NULL */
    if (n > DEMANGLED_MAX - d->n)
        longjmp(d->too_long, 1);
    memcpy(d->text + d->n, piece, n);
    d->n += n;
}

size_t demangle(const char *symbol, char out[DEMANGLED_MAX])
{
    struct demangled d = { .text = out };

    if (setjmp(d.too_long))
        return 0;
    /* Rust's legacy symbols are also valid C++ symbols. */
    if (rust_demangle_callback(symbol, DMGL_NO_OPTS, demangle_piece, &d))
        return d.n;
    d.n = 0;
    if (symbol[0] != '_' || symbol[1] != 'Z' ||
        !cplus_demangle_v3_callback(symbol, DMGL_NO_OPTS, demangle_piece, &d))
        return 0;
    return d.n;
}
