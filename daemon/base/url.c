/* SPDX-License-Identifier: Apache-2.0 */
#include "base/url.h"

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("-._~", c));
}

void url_add_escaped(struct buf *out, struct span text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (is_plain(text.p[i]))
            buf_add_char(out, text.p[i]);
        else
            buf_printf(out, "%%%02X", (unsigned)(unsigned char)text.p[i]);
    }
}
