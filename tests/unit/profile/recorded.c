/* SPDX-License-Identifier: Apache-2.0 */
#include "recorded.h"

#include "suite.h"

struct frame_table *table;
struct record *rec;
uint32_t main_thread, other_thread;

uint32_t recorded_string(const char *s)
{
    uint32_t id;

    ck_assert_int_eq(frame_table_string(table, span_of(s), &id), 0);
    return id;
}

uint32_t recorded_frame(const char *class_name, const char *name, enum frame_kind kind,
                        uint32_t line)
{
    struct function fn = { .class_name = recorded_string(class_name),
                           .name = recorded_string(name),
                           .signature = recorded_string("(int)") };
    struct frame f = { .line = line, .kind = (uint8_t)kind };
    uint32_t id;

    ck_assert_int_eq(frame_table_function(table, &fn, &f.function), 0);
    ck_assert_int_eq(frame_table_frame(table, &f, &id), 0);
    return id;
}

void recorded_setup_for(size_t entries, size_t samples)
{
    struct profile_process p = { .host_pid = 42 };
    struct profile_thread t = { .host_tid = 43 };

    ck_assert_int_eq(frame_table_new(entries, 1 << 20, &table), 0);
    ck_assert_int_eq(record_new(table, samples, &rec), 0);
    p.name = recorded_string("Main");
    ck_assert_int_eq(record_process(rec, &p, &t.process), 0);
    t.name = recorded_string("main");
    ck_assert_int_eq(record_thread(rec, &t, &main_thread), 0);
    t.host_tid = 44;
    t.name = recorded_string("other");
    ck_assert_int_eq(record_thread(rec, &t, &other_thread), 0);
}

void recorded_setup(void)
{
    recorded_setup_for(/* entries= */ 1000, /* samples= */ 100);
}

void recorded_teardown(void)
{
    record_free(rec);
    frame_table_free(table);
}

void recorded_sample(const uint32_t *stack, size_t depth, uint32_t n, enum category category)
{
    struct profile_sample s = { .time_ns = 1,
                                .thread = main_thread,
                                .count = n,
                                .flags = category << PROFILE_SAMPLE_CATEGORY_SHIFT };

    ck_assert_int_eq(record_sample(rec, &s, stack, depth), 0);
}

char *recorded_rows(struct profile *p, const struct view_opts *o, struct buf *out)
{
    struct view *v = NULL;

    ck_assert_int_eq(view_new(p, o, &v, NULL), 0);
    for (size_t i = 0; i < v->row_count; i++) {
        for (uint32_t k = 0; k < v->rows[i].n; k++) {
            if (k)
                buf_add_char(out, ';');
            buf_add_span(out, view_string(v, v->frames[v->stack[v->rows[i].first + k]].name));
        }
        buf_printf(out, " %llu\n", (unsigned long long)v->rows[i].samples);
    }
    view_free(v);
    return out->p;
}
