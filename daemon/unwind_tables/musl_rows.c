/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "unwind_tables/musl_rows.h"

#include "base/cleanup.h"
#include "base/list.h"
#include "base/reading_turn.h"
#include "elf/musl_start.h"

static bool enters(image_read_fn read, const void *file, const struct ehframe_segment *code,
                   uint64_t entry)
{
    char head[MUSL_ENTRY_BYTES];

    return entry >= code->vaddr && entry - code->vaddr < code->bytes &&
           code->bytes - (entry - code->vaddr) > sizeof(head) &&
           read(file, code->offset + (entry - code->vaddr), head, sizeof(head)) == 0 &&
           musl_enters((struct span){ head, sizeof(head) });
}

/* Returns whether the first @count rows of @t, which are sorted, have a rule between @start and
 * @end. */
static bool has_rules(const struct ehframe_table *t, size_t count, uint64_t start, uint64_t end)
{
    return ANY_OF(i, count,
                  t->rows[i].pc < end && t->rows[i].base != UNWIND_BASE_NONE &&
                      (i + 1 == count || t->rows[i + 1].pc > start));
}

static struct unwind_row row_of(const struct musl_rule *rule)
{
    struct unwind_row row = { .pc = (uint32_t)rule->pc, .base = UNWIND_BASE_NONE };

    if (rule->base == MUSL_ROOT)
        row.base = UNWIND_BASE_ROOT;
    if (rule->base == MUSL_SP) {
        row.base = UNWIND_BASE_SP;
        row.cfa = (int16_t)(rule->frame_bytes / 8 + 1);
    }
    return row;
}

/* Appends @rules to @t, which has room for all of them. */
static void add_rows(struct ehframe_table *t, const struct musl_rules *rules)
{
    const size_t known = t->count;

    for (size_t i = 0, n; i < rules->count; i += n) {
        const struct musl_rule *f = &rules->rules[i];

        for (n = 1; f[n - 1].base != MUSL_END; n++)
            ;
        if (f[n - 1].pc > UINT32_MAX || has_rules(t, known, f->pc, f[n - 1].pc))
            continue;
        for (size_t k = 0; k < n; k++)
            t->rows[t->count++] = row_of(&f[k]);
    }
}

static int read_rules(image_read_fn read, const void *file, const struct ehframe_segment *code,
                      uint64_t entry, struct musl_rules *ret)
{
    _cleanup_free_ char *bytes = malloc(code->bytes);

    if (!bytes)
        return -ENOMEM;
    return read(file, code->offset, bytes, code->bytes)
               ?: musl_read((struct span){ bytes, code->bytes }, code->vaddr, entry, ret);
}

int musl_rows_add(image_read_fn read, const void *file, const struct ehframe_segment *code,
                  uint64_t entry, struct ehframe_table *t)
{
    _cleanup_free_ struct musl_rules *rules = NULL;
    bool waits = code->bytes >= READING_SMALL_BYTES;
    struct unwind_row *rows;
    int r;

    if (!t->count || code->bytes > MUSL_CODE_MAX_BYTES || !enters(read, file, code, entry))
        return 0;
    rules = malloc(sizeof(*rules));
    if (!rules)
        return -ENOMEM;
    if (waits)
        reading_turn_begin();
    r = read_rules(read, file, code, entry, rules);
    if (waits)
        reading_turn_end();
    if (r < 0 || !rules->count || t->count + rules->count > EHFRAME_ROWS_MAX)
        return r;
    rows = reallocarray(t->rows, t->count + rules->count, sizeof(*rows));
    if (!rows)
        return -ENOMEM;
    t->rows = rows;
    add_rows(t, rules);
    ehframe_tidy(t);
    return 0;
}
