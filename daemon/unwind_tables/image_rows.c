/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "unwind_tables/image_rows.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/image_code.h"

#define PIECE_BYTES ((size_t)1 << 20)

struct adding {
    struct ehframe_table *table;
    size_t known; /* number of rows in the table that come from .eh_frame */
    size_t next;  /* index of the first of these rows behind the previous function */
    size_t room;
};

static int add_row(struct adding *a, uint64_t pc, struct unwind_row row)
{
    struct ehframe_table *t = a->table;

    if (t->count >= EHFRAME_ROWS_MAX)
        return -EFBIG;
    if (t->count >= a->room && !array_grow(&t->rows, &a->room, t->count + 1, 4096))
        return -ENOMEM;
    row.pc = (uint32_t)pc;
    t->rows[t->count++] = row;
    return 0;
}

/* Returns whether .eh_frame has a rule for any part of @f. Functions come in order of address. */
static bool has_rules(struct adding *a, const struct image_function *f)
{
    const struct unwind_row *rows = a->table->rows;

    while (a->next < a->known && rows[a->next].pc < f->start)
        a->next++;
    if (a->next > 0 && rows[a->next - 1].base != UNWIND_BASE_NONE)
        return true;
    for (size_t i = a->next; i < a->known && rows[i].pc < f->end; i++) {
        if (rows[i].base != UNWIND_BASE_NONE)
            return true;
    }
    return false;
}

static int add_function(void *cookie, const struct image_function *f)
{
    struct adding *a = cookie;
    size_t before = a->table->count;
    int r = 0;

    if (f->count == 0 || f->end > UINT32_MAX || has_rules(a, f))
        return 0;
    for (size_t i = 0; i < f->count && r == 0; i++) {
        const struct image_step *s = &f->steps[i];

        r = add_row(a, s->pc,
                    (struct unwind_row){ .cfa = (int16_t)(s->frame_bytes / 8 + 1),
                                         .base = UNWIND_BASE_SP,
                                         .fp = s->fp_saved ? -2 : 0 });
    }
    if (r == 0)
        r = add_row(a, f->end, (struct unwind_row){ .base = UNWIND_BASE_NONE });
    if (r < 0)
        a->table->count = before; /* drop the incomplete function */
    return r;
}

int image_rows_add(image_read_fn read, const void *file, const struct ehframe_segment *code,
                   struct ehframe_table *t)
{
    struct adding a = { .table = t, .known = t->count, .room = t->count };
    uint64_t left = MIN(code->bytes, IMAGE_CODE_MAX_BYTES), at = code->offset;
    _cleanup_(image_code_freep) struct image_code *reader = NULL;
    _cleanup_free_ char *bytes = malloc(PIECE_BYTES);
    size_t n = 0, used = 0;
    int r = image_code_new(code->vaddr, add_function, &a, &reader);

    if (!bytes || r < 0)
        return -ENOMEM;
    while (r == 0 && left) {
        size_t more;

        n -= used;
        memmove(bytes, bytes + used, n);
        more = (size_t)MIN(left, (uint64_t)(PIECE_BYTES - n));
        r = read(file, at, bytes + n, more);
        at += more;
        left -= more;
        n += more;
        if (r == 0)
            r = image_code_read(reader, (struct span){ bytes, n }, left == 0, &used);
    }
    ehframe_tidy(t);
    return r == -EFBIG ? 0 : r; /* the rows that found room are valid */
}
