/* SPDX-License-Identifier: Apache-2.0 */
#include "render/body_texts.h"

/* limit of stored texts; further texts are made again for each row */
#define BODY_TEXTS_BYTES_MAX ((size_t)128 << 20)

int body_texts_init(struct body_texts *t, const struct view *v)
{
    *t = (struct body_texts){ .rows = calloc(v->body_count + 1, sizeof(*t->rows)),
                              .end = calloc(v->body_count + 1, sizeof(*t->end)),
                              .bytes = calloc(v->body_count + 1, sizeof(*t->bytes)) };
    buf_init(&t->kept, BODY_TEXTS_BYTES_MAX);
    if (!t->rows || !t->end || !t->bytes)
        return -ENOMEM;
    for (size_t i = 0; i < v->row_count; i++)
        t->rows[v->rows[i].body]++;
    return 0;
}

void body_texts_deinit(struct body_texts *t)
{
    buf_deinit(&t->kept);
    free(t->rows);
    free(t->end);
    free(t->bytes);
}

void body_texts_keep(struct body_texts *t, uint32_t body, struct span text)
{
    if (t->rows[body] < 2 || text.n > MIN(BODY_TEXTS_BYTES_MAX - t->kept.n, (size_t)UINT32_MAX))
        return;
    buf_add_span(&t->kept, text);
    if (t->kept.error)
        return;
    t->end[body] = t->kept.n;
    t->bytes[body] = (uint32_t)text.n;
}
