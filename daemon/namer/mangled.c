/* SPDX-License-Identifier: Apache-2.0 */
#include "namer/mangled.h"

/* In "name.cold", "name.constprop.0" and "name.part.1.lto_priv.2" the name ends before the first
 * suffix. Searches each suffix once, for its first place. */
struct span symbol_without_clone(struct span symbol)
{
    static const char *const SUFFIXES[] = { ".cold", ".constprop", ".isra",
                                            ".llvm", ".lto_priv",  ".part" };
    size_t cut = symbol.n;

    if (span_find(symbol, '.') == symbol.n)
        return symbol;
    for (size_t s = 0; s < ARRAY_SIZE(SUFFIXES); s++) {
        size_t n = strlen(SUFFIXES[s]);
        const char *at = cut > n ? memmem(symbol.p + 1, cut - 1, SUFFIXES[s], n) : NULL;

        if (at && (at + n == symbol.p + symbol.n || at[n] == '.'))
            cut = (size_t)(at - symbol.p);
    }
    return (struct span){ symbol.p, cut };
}

bool symbol_is_mangled(struct span symbol)
{
    return symbol.n > 2 && symbol.n <= MANGLED_MAX && symbol.p[0] == '_' &&
           (symbol.p[1] == 'Z' || symbol.p[1] == 'R');
}
