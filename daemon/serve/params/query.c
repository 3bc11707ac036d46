/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/params/query.h"

#include "base/text.h"

const char *query_show(struct span value, char buf[QUERY_SHOW_MAX])
{
    _cleanup_buf_ struct buf clean = BUF_UPTO(QUERY_SHOW_MAX - 1);

    text_clean(value, TEXT_UTF8, 64, &clean);
    return span_copy(buf_span(&clean), buf, QUERY_SHOW_MAX);
}

/* Decodes @in into @out, which has room for in.n bytes and a NUL. */
static int query_decode(struct span in, bool plus_is_space, char *out, struct span *ret,
                        struct error *err)
{
    char show[QUERY_SHOW_MAX];
    size_t n = 0;

    for (size_t i = 0; i < in.n; i++) {
        char c = in.p[i];

        if (c == '%') {
            bool whole = in.n - i >= 3;
            int high = whole ? hex_value(in.p[i + 1]) : -1;
            int low = whole ? hex_value(in.p[i + 2]) : -1;

            if (high < 0 || low < 0) {
                query_show((struct span){ in.p + i, MIN(in.n - i, (size_t)3) }, show);
                error_remedy(err, "write %%25 where a percent sign is meant");
                return error_set(err, -EINVAL,
                                 "'%s' is not an escape: %% takes two hexadecimal digits", show);
            }
            c = (char)(high << 4 | low);
            i += 2;
        } else if (c == '+' && plus_is_space) {
            c = ' ';
        }
        if (c == '\0')
            return error_set(err, -EINVAL, "a NUL character (%%00) cannot be part of a request");
        out[n++] = c;
    }
    out[n] = '\0';
    *ret = (struct span){ out, n };
    if (!text_is_utf8(*ret)) {
        error_remedy(err, "encode text as UTF-8 before escaping it");
        return error_set(err, -EINVAL, "'%s' is not valid UTF-8", query_show(*ret, show));
    }
    return 0;
}

int query_parse(struct span raw, struct query *ret, struct error *err)
{
    struct query q = { .text = malloc(raw.n + 1) };
    struct span item;
    char *at = q.text;
    int r;

    if (!q.text)
        return -ENOMEM;
    while (span_take_until(&raw, '&', &item)) {
        size_t eq = span_find(item, '=');
        struct query_item *i = &q.items[q.count];

        if (item.n == 0)
            continue;
        if (q.count == QUERY_ITEMS_MAX) {
            query_deinit(&q);
            return error_set(err, -E2BIG, "a request takes at most %d parameters", QUERY_ITEMS_MAX);
        }
        i->has_value = eq < item.n;
        r = query_decode((struct span){ item.p, eq }, /* plus_is_space= */ true, at, &i->name, err);
        if (r == 0) {
            at += i->name.n + 1;
            i->value = (struct span){ at - 1, 0 };
            if (i->has_value) {
                r = query_decode(span_from(item, eq + 1), /* plus_is_space= */ true, at, &i->value,
                                 err);
                at += i->value.n + 1;
            }
        }
        if (r < 0) {
            query_deinit(&q);
            return r;
        }
        q.count++;
    }
    *ret = q;
    return 0;
}

void query_deinit(struct query *q)
{
    free(q->text);
    q->text = NULL;
    q->count = 0;
}

int query_decode_path(struct span raw, char **ret, struct error *err)
{
    char *out = malloc(raw.n + 1);
    struct span text;
    int r;

    if (!out)
        return -ENOMEM;
    r = query_decode(raw, /* plus_is_space= */ false, out, &text, err);
    if (r < 0) {
        free(out);
        return r;
    }
    *ret = out;
    return 0;
}
