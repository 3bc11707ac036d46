/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>

/*
 * The library's printing forms are used, which hand the text over piece by piece and allocate
 * nothing for C++: when the text gets too long we leave by longjmp(), because there is no other way
 * to stop them.
 */
struct demangled {
    char text[DEMANGLE_OUTPUT_MAX];
    size_t n;
    jmp_buf too_long;
};

static void demangle_piece(const char *piece, size_t n, void *opaque)
{
    struct demangled *d = opaque;

    if (!n)
        return; /* of NULL */
    if (n > sizeof(d->text) - d->n)
        longjmp(d->too_long, 1);
    memcpy(d->text + d->n, piece, n);
    d->n += n;
}

static bool demangle_text(const char *symbol, struct demangled *d)
{
    d->n = 0;
    if (setjmp(d->too_long))
        return false;
    if (symbol[0] == '_' && symbol[1] == 'Z') {
        /* Rust's legacy symbols are valid C++ ones too. */
        if (!rust_demangle_callback(symbol, DMGL_NO_OPTS, demangle_piece, d)) {
            d->n = 0;
            if (!cplus_demangle_v3_callback(symbol, DMGL_NO_OPTS, demangle_piece, d))
                return false;
        }
    } else if (!rust_demangle_callback(symbol, DMGL_NO_OPTS, demangle_piece, d)) {
        return false;
    }
    return d->n > 0;
}

/* "name.cold", "name.constprop.0", "name.part.1.lto_priv.2": the length of "name". */
static size_t without_clone_suffix(struct span symbol)
{
    static const char *const SUFFIXES[] = { ".cold", ".constprop", ".isra",
                                            ".llvm", ".lto_priv",  ".part" };
    size_t cut = symbol.n;

    for (size_t s = 0; s < ARRAY_SIZE(SUFFIXES); s++) {
        size_t n = strlen(SUFFIXES[s]);
        const char *at = cut > n ? memmem(symbol.p + 1, cut - 1, SUFFIXES[s], n) : NULL;

        if (at && (at + n == symbol.p + symbol.n || at[n] == '.'))
            cut = (size_t)(at - symbol.p);
    }
    return cut;
}

void demangle(struct span symbol, struct buf *out)
{
    char text[DEMANGLE_INPUT_MAX + 1];
    struct demangled d;

    symbol.n = without_clone_suffix(symbol);
    if (symbol.n <= DEMANGLE_INPUT_MAX && symbol.n > 2 && symbol.p[0] == '_' &&
        (symbol.p[1] == 'Z' || symbol.p[1] == 'R')) {
        span_copy(symbol, text, sizeof(text));
        if (demangle_text(text, &d)) {
            buf_add(out, d.text, d.n);
            return;
        }
    }
    buf_add_span(out, symbol);
}
