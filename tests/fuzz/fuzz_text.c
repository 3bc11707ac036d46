/* SPDX-License-Identifier: Apache-2.0 */
/* text_clean(): any input gives valid and harmless UTF-8 of bounded length. */
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span in = { (const char *)data, size };

    for (int encoding = TEXT_UTF8; encoding <= TEXT_MODIFIED_UTF8; encoding++) {
        _cleanup_buf_ struct buf once = BUF_NULL, twice = BUF_NULL, html = BUF_NULL;

        buf_init(&once, (size_t)1 << 20);
        buf_init(&twice, (size_t)1 << 20);
        buf_init(&html, (size_t)8 << 20);
        text_clean(in, (enum text_encoding)encoding, 100, &once);
        if (once.n > 100)
            abort();
        for (size_t i = 0; i < once.n; i++) {
            if ((unsigned char)once.p[i] < 0x20 || once.p[i] == 0x7f)
                abort();
        }
        text_clean(buf_span(&once), TEXT_UTF8, 100, &twice);
        if (!span_eq(buf_span(&once), buf_span(&twice)))
            abort();
        text_add_html(&html, buf_span(&once));
        text_add_json(&html, buf_span(&once));
        if (html.n && memchr(html.p, '<', html.n))
            abort();
    }
    return 0;
}
