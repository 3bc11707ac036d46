/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cache of texts of stack bodies that several rows of a view share, such as threads with the same
 * stack. Private to render/.
 */
#pragma once

#include "base/buf.h"
#include "profile/view.h"

struct body_texts {
    struct buf kept;
    uint32_t *rows;  /* [view->body_count]: number of rows with the body */
    size_t *end;     /* [view->body_count]: end of the body's text in `kept`; 0: not stored */
    uint32_t *bytes; /* [view->body_count] */
};

/* 0 or -ENOMEM; body_texts_deinit() is needed in every case. */
int body_texts_init(struct body_texts *t, const struct view *v);
void body_texts_deinit(struct body_texts *t);

/* Returns whether the text of @body is stored. *ret: the text, valid until the next
 * body_texts_keep(). */
static inline bool body_texts_get(const struct body_texts *t, uint32_t body, struct span *ret)
{
    if (!t->end[body])
        return false;
    *ret = (struct span){ t->kept.p + t->end[body] - t->bytes[body], t->bytes[body] };
    return true;
}
/* Stores @text if several rows share @body, and there is room. */
void body_texts_keep(struct body_texts *t, uint32_t body, struct span text);
