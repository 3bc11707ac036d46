/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of stack bodies that several rows of a view have (threads with the same stack): put
 * together once. Private to render/.
 */
#pragma once

#include "base/buf.h"
#include "profile/view.h"

struct body_texts {
    struct buf kept;
    uint32_t *rows;  /* [view->body_count]: how many rows with that body */
    size_t *end;     /* [view->body_count]: where its text ends in kept; 0: not there */
    uint32_t *bytes; /* [view->body_count] */
};

/* 0 or -ENOMEM; to be deinited in any case. */
int body_texts_init(struct body_texts *t, const struct view *v);
void body_texts_deinit(struct body_texts *t);

/* Returns true and its text, if it was kept; valid until the next body_texts_keep(). */
static inline bool body_texts_get(const struct body_texts *t, uint32_t body, struct span *ret)
{
    if (!t->end[body])
        return false;
    *ret = (struct span){ t->kept.p + t->end[body] - t->bytes[body], t->bytes[body] };
    return true;
}
/* Keeps it if another row has the same body, and there is room. */
void body_texts_keep(struct body_texts *t, uint32_t body, struct span text);
