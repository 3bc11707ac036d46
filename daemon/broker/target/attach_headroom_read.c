/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/target/attach_headroom_impl.h"

bool attach_headroom_read_number(int dir_fd, const char *path, uint64_t *ret)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(TARGET_TEXT_MAX);

    return buf_read_at(&text, dir_fd, path) == 0 && span_parse_dec(span_trim(buf_span(&text)), ret);
}

bool attach_headroom_find_number(struct span text, const char *key, uint64_t *ret)
{
    struct span line, word;

    while (span_take_line(&text, &line)) {
        if (span_take_str(&line, key))
            return span_take_word(&line, &word) && span_parse_dec(word, ret);
    }
    return false;
}
