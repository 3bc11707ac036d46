/* SPDX-License-Identifier: Apache-2.0 */
/* context_decode(): the context of a request as a BPF program read it. A target wrote its ids and
 * names. */
#include "capture/request_context.h"

#include "base/clock.h"
#include "broker_client/tables.h"
#include "capture/capture_impl.h"
#include "hotspot/counters.h"
#include "hotspot/vm.h"
#include "suite.h"

#include <endian.h>

static struct sample_context raw;
static struct profile_context context;
static struct buf name;

static void setup(void)
{
    raw = (struct sample_context){ .state = CONTEXT_NAMED };
    buf_init(&name, 4096);
}

static void teardown(void)
{
    buf_deinit(&name);
}

/* Writes @text with one or two bytes per character. */
static void put(enum context_text which, void *to, const char *text, bool wide)
{
    size_t n = strlen(text);

    for (size_t i = 0; i < n; i++)
        ((char *)to)[i << wide] = text[i];
    raw.bytes[which] = (uint8_t)(n << wide);
    if (wide)
        raw.wide |= (uint8_t)(1u << which);
}

static void put_ids(const char *trace, const char *span, const char *root, bool wide)
{
    put(CONTEXT_TRACE, &raw.id[CONTEXT_TRACE_WORD], trace, wide);
    put(CONTEXT_SPAN, &raw.id[CONTEXT_SPAN_WORD], span, wide);
    put(CONTEXT_ROOT, &raw.id[CONTEXT_ROOT_WORD], root, wide);
}

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN_ID "00f067aa0ba902b7"

START_TEST(reads_texts)
{
    bool wide = _i != 0;

    put_ids(TRACE, SPAN_ID, "53995c3f42cd8ad8", wide);
    put(CONTEXT_NAME, raw.name, "GET /orders/{id}", wide);
    context_decode(&raw, &context, &name);
    ck_assert(context.trace_high == UINT64_C(0x4bf92f3577b34da6));
    ck_assert(context.trace_low == UINT64_C(0xa3ce929d0e0e4736));
    ck_assert(context.span == UINT64_C(0x00f067aa0ba902b7));
    ck_assert(context.root == UINT64_C(0x53995c3f42cd8ad8));
    ck_assert_uint_eq(context.state, PROFILE_CONTEXT_NAMED);
    ck_assert(span_eq_str(buf_span(&name), "GET /orders/{id}"));
}
END_TEST

START_TEST(reads_words)
{
    raw.ids = CONTEXT_IDS_WORDS;
    raw.state = CONTEXT_IDS_ONLY;
    raw.id[CONTEXT_TRACE_WORD] = 7;
    raw.id[CONTEXT_TRACE_WORD + 1] = 8;
    raw.id[CONTEXT_SPAN_WORD] = 9;
    context_decode(&raw, &context, &name);
    ck_assert(context.trace_high == 7 && context.trace_low == 8 && context.span == 9);
    ck_assert(context.root == 9); /* its own span */
    ck_assert_uint_eq(context.state, PROFILE_CONTEXT_IDS);
    ck_assert_uint_eq(name.n, 0);
}
END_TEST

/* A thread's record: bytes, the highest first, and texts in UTF-8. */
static const struct {
    uint64_t trace_high, trace_low, span;
    const char *root, *name;
    enum context_state state;
    uint32_t wanted;
    uint64_t wanted_span, wanted_root;
} RECORDS[] = {
    { 1, 2, 3, "53995c3f42cd8ad8", "GET /caf\xc3\xa9", CONTEXT_NAMED, PROFILE_CONTEXT_NAMED, 3,
      UINT64_C(0x53995c3f42cd8ad8) },
    { 1, 2, 3, "", "", CONTEXT_IDS_ONLY, PROFILE_CONTEXT_IDS, 3, 3 },
    { 0, 2, 3, "no root at all!!", "", CONTEXT_IDS_ONLY, PROFILE_CONTEXT_IDS, 3, 3 },
    { 0, 0, 0, "", "GET", CONTEXT_NAMED, PROFILE_CONTEXT_NAMED, 0, 0 },
    { 0, 0, 3, "", "GET", CONTEXT_NAMED, PROFILE_CONTEXT_NAMED, 0, 0 }, /* a span without trace */
    { 1, 2, 0, "", "", CONTEXT_IDS_ONLY, PROFILE_CONTEXT_UNREADABLE, 0, 0 },
    { 0, 0, 0, "", "", CONTEXT_NO_REQUEST, PROFILE_CONTEXT_NO_REQUEST, 0, 0 },
};

START_TEST(reads_a_record)
{
    raw.ids = CONTEXT_IDS_RECORD;
    raw.state = (uint8_t)RECORDS[_i].state;
    raw.id[CONTEXT_TRACE_WORD] = htobe64(RECORDS[_i].trace_high);
    raw.id[CONTEXT_TRACE_WORD + 1] = htobe64(RECORDS[_i].trace_low);
    raw.id[CONTEXT_SPAN_WORD] = htobe64(RECORDS[_i].span);
    put(CONTEXT_ROOT, &raw.id[CONTEXT_ROOT_WORD], RECORDS[_i].root, false);
    put(CONTEXT_NAME, raw.name, RECORDS[_i].name, false);
    context_decode(&raw, &context, &name);
    ck_assert_uint_eq(context.state, RECORDS[_i].wanted);
    ck_assert(context.span == RECORDS[_i].wanted_span);
    ck_assert(context.root == RECORDS[_i].wanted_root);
    ck_assert(span_eq_str(buf_span(&name), RECORDS[_i].name));
    if (context.state == PROFILE_CONTEXT_IDS)
        ck_assert(context.trace_high == RECORDS[_i].trace_high &&
                  context.trace_low == RECORDS[_i].trace_low);
}
END_TEST

/* Texts that no tracer writes. */
static const struct {
    const char *trace, *span, *root;
} WRONG[] = {
    { "4bf92f3577b34da6a3ce929d0e0e473", SPAN_ID, "" }, /* one digit missing */
    { "4bf92f3577b34da6a3ce929d0e0e473g", SPAN_ID, "" },
    { TRACE, "00f067aa0ba902b", "" },
    { TRACE, "", "" },
    { TRACE, SPAN_ID, "53995c3f42cd8a-8" },
};

START_TEST(refuses_what_is_no_id)
{
    put_ids(WRONG[_i].trace, WRONG[_i].span, WRONG[_i].root, false);
    put(CONTEXT_NAME, raw.name, "GET /", false);
    context_decode(&raw, &context, &name);
    ck_assert_uint_eq(context.state, PROFILE_CONTEXT_UNREADABLE);
    ck_assert(!context.trace_high && !context.trace_low && !context.span && !context.root);
    ck_assert_uint_eq(name.n, 0);
}
END_TEST

/* The span that OpenTelemetry has where there is none. */
START_TEST(zeros_are_no_request)
{
    put_ids("00000000000000000000000000000000", "0000000000000000", "", false);
    put(CONTEXT_NAME, raw.name, "GET", false);
    context_decode(&raw, &context, &name);
    ck_assert_uint_eq(context.state, PROFILE_CONTEXT_NO_REQUEST);
    ck_assert(!context.span && !context.root);
    ck_assert_uint_eq(name.n, 0);
}
END_TEST

START_TEST(reads_short_traces)
{
    bool wide = _i != 0;

    put_ids("a3ce929d0e0e4736", SPAN_ID, "", wide);
    context_decode(&raw, &context, &name);
    ck_assert(context.trace_high == 0);
    ck_assert(context.trace_low == UINT64_C(0xa3ce929d0e0e4736));
}
END_TEST

START_TEST(reads_a_name_without_ids)
{
    raw.ids = CONTEXT_IDS_NONE;
    put_ids(TRACE, SPAN_ID, "", false); /* stale: a path of this kind has no ids */
    put(CONTEXT_NAME, raw.name, "GET:/orders", false);
    context_decode(&raw, &context, &name);
    ck_assert_uint_eq(context.state, PROFILE_CONTEXT_NAMED);
    ck_assert(!profile_context_has_ids(&context) && !context.root);
    ck_assert(span_eq_str(buf_span(&name), "GET:/orders"));
    raw.state = CONTEXT_IDS_ONLY;
    context_decode(&raw, &context, &name);
    ck_assert_uint_eq(context.state, PROFILE_CONTEXT_UNREADABLE);
}
END_TEST

/* The context of a log: texts of a program, which need not be ids. */
static const struct {
    const char *trace, *span;
    enum context_state state;
    uint32_t wanted;
} LOGGED[] = {
    { TRACE, SPAN_ID, CONTEXT_IDS_ONLY, PROFILE_CONTEXT_IDS },
    { "a3ce929d0e0e4736", SPAN_ID, CONTEXT_IDS_ONLY, PROFILE_CONTEXT_IDS },
    { "", "", CONTEXT_NO_REQUEST, PROFILE_CONTEXT_NO_TRACER },
    { TRACE, "", CONTEXT_NO_REQUEST, PROFILE_CONTEXT_NO_TRACER },
    { "123e4567-e89b-12d3-a456-426614174000", "1", CONTEXT_IDS_ONLY, PROFILE_CONTEXT_NO_TRACER },
    { TRACE, "00f067aa0ba902b-", CONTEXT_IDS_ONLY, PROFILE_CONTEXT_NO_TRACER },
    { "order-0123456789", SPAN_ID, CONTEXT_IDS_ONLY, PROFILE_CONTEXT_NO_TRACER },
    { "", "", CONTEXT_UNREADABLE, PROFILE_CONTEXT_UNREADABLE },
};

START_TEST(takes_ids_alone_from_a_log)
{
    raw.ids = CONTEXT_IDS_LOG;
    raw.state = LOGGED[_i].state;
    put_ids(LOGGED[_i].trace, LOGGED[_i].span, "", false);
    context_decode(&raw, &context, &name);
    ck_assert_uint_eq(context.state, LOGGED[_i].wanted);
    ck_assert(profile_context_has_ids(&context) == (LOGGED[_i].wanted == PROFILE_CONTEXT_IDS));
}
END_TEST

/* Texts under keys of the configuration, and what counts. */
#define UUID "4bf92f35-77b3-4da6-a3ce-929d0e0e4736"
static const struct {
    const char *trace, *span, *name;
    bool has_trace, has_span;
} KEYS[] = {
    { TRACE, SPAN_ID, "GET /", true, true },
    { TRACE, "", "", true, false },
    { UUID, "", "GET /", true, false },
    { UUID, SPAN_ID, "", true, true },
    { TRACE, "7", "", true, false },
    { "", SPAN_ID, "GET /", false, false }, /* a span alone */
    { "order-7", "", "GET /", false, false },
    { "4bf92f35x77b3-4da6-a3ce-929d0e0e4736", "", "GET /", false, false },
    { "4bf92f35-77b3-4da6-a3ce-929d0e0e473g", "", "GET /", false, false },
    { "", "", "GET /", false, false },
    { "order-7", SPAN_ID, "", false, false },
    { "", "", "", false, false },
};

START_TEST(takes_any_of_the_keys)
{
    bool named = KEYS[_i].name[0], any = KEYS[_i].has_trace || named;
    uint32_t wanted = named ? PROFILE_CONTEXT_NAMED
                      : any ? PROFILE_CONTEXT_IDS
                            : PROFILE_CONTEXT_NO_TRACER;

    raw.ids = CONTEXT_IDS_KEYS;
    raw.state = named ? CONTEXT_NAMED : KEYS[_i].trace[0] ? CONTEXT_IDS_ONLY : CONTEXT_NO_REQUEST;
    put_ids(KEYS[_i].trace, KEYS[_i].span, "", false);
    put(CONTEXT_NAME, raw.name, KEYS[_i].name, false);
    context_decode(&raw, &context, &name);
    ck_assert_uint_eq(context.state, wanted);
    ck_assert(context.trace_high == (KEYS[_i].has_trace ? UINT64_C(0x4bf92f3577b34da6) : 0));
    ck_assert(context.trace_low == (KEYS[_i].has_trace ? UINT64_C(0xa3ce929d0e0e4736) : 0));
    ck_assert(context.span == (KEYS[_i].has_span ? UINT64_C(0x00f067aa0ba902b7) : 0));
    ck_assert(context.root == context.span);
    ck_assert(span_eq_str(buf_span(&name), KEYS[_i].name));
}
END_TEST

/* A UUID of two bytes a character does not fit. */
START_TEST(takes_no_cut_uuid)
{
    raw.ids = CONTEXT_IDS_KEYS;
    raw.state = CONTEXT_IDS_ONLY;
    put(CONTEXT_TRACE, &raw.id[CONTEXT_TRACE_WORD], TRACE, true);
    ck_assert_uint_eq(raw.bytes[CONTEXT_TRACE], 64);
    ((char *)&raw.id[CONTEXT_TRACE_WORD])[16] = '-';
    context_decode(&raw, &context, &name);
    ck_assert_uint_eq(context.state, PROFILE_CONTEXT_NO_TRACER);
}
END_TEST

START_TEST(refuses_unknown_states)
{
    put_ids(TRACE, SPAN_ID, "", false);
    raw.state = CONTEXT_STATES;
    context_decode(&raw, &context, &name);
    ck_assert_uint_eq(context.state, PROFILE_CONTEXT_UNREADABLE);
    raw.state = CONTEXT_NAMED;
    raw.ids = CONTEXT_IDS_KINDS;
    context_decode(&raw, &context, &name);
    ck_assert_uint_eq(context.state, PROFILE_CONTEXT_UNREADABLE);
    memset(&raw, 0xff, sizeof(raw));
    context_decode(&raw, &context, &name);
    ck_assert_uint_eq(context.state, PROFILE_CONTEXT_UNREADABLE);
}
END_TEST

START_TEST(cleans_names)
{
    put_ids(TRACE, SPAN_ID, "", false);
    put(CONTEXT_NAME, raw.name, "a\nb\xe9", false); /* Latin-1 */
    context_decode(&raw, &context, &name);
    ck_assert(span_eq_str(buf_span(&name), "a\xef\xbf\xbd"
                                           "b\xc3\xa9"));
    raw.wide = 1u << CONTEXT_NAME;
    memcpy(raw.name, "\x3d\xd8\x00\xde\x00\xd8", 6); /* a surrogate pair, and half of one */
    raw.bytes[CONTEXT_NAME] = 6;
    context_decode(&raw, &context, &name);
    ck_assert(span_eq_str(buf_span(&name), "\xf0\x9f\x98\x80\xef\xbf\xbd"));
    raw.bytes[CONTEXT_NAME] = 255; /* longer than the buffer */
    context_decode(&raw, &context, &name);
    ck_assert_uint_le(name.n, CONTEXT_TEXT_BYTES);
}
END_TEST

/* ---- when to look ---- */

/* Calls put_path() for a JVM without a tracer that was looked at @looked_s ago, and has counters
 * that were read @counted_s ago. Returns whether it looked again. */
static bool looks(struct context_entry *e, struct process *p, uint64_t looked_s, uint64_t counted_s,
                  uint64_t most_ns)
{
    uint64_t now_ns = clock_monotonic_ns(), looked_ns = now_ns - looked_s * NSEC_PER_SEC;

    e->looked_ns = looked_ns;
    e->wait_ns = 0;
    p->counters_ns = now_ns - counted_s * NSEC_PER_SEC;
    ck_assert_int_eq(CONTEXTS.put(NULL, NULL, &e->entry, p, &most_ns, NULL), -EAGAIN);
    ck_assert(e->no_tracer);
    return e->looked_ns != looked_ns;
}

/* The recorder looks again once the JVM has loaded a class. */
START_TEST(looks_again_after_a_class)
{
    struct hotspot_vm *vm = calloc(1, sizeof(*vm));
    struct counters counters = { .classes_loaded = 400, .shared_classes_loaded = 1000 };
    struct process p = { .jvm = JVM_READY, .vm = vm };
    struct context_entry e = { .entry = { .set = 0 } };

    ck_assert_ptr_nonnull(vm);
    atomic_init(&vm->users, 1);
    vm->proof.objects_off = true;                 /* no class is found */
    ck_assert(looks(&e, &p, 20, 10, UINT64_MAX)); /* no counters yet */
    p.counters = &counters;
    ck_assert(looks(&e, &p, 20, 10, UINT64_MAX)); /* the first ones */
    ck_assert(!looks(&e, &p, 20, 10, UINT64_MAX));
    ck_assert(looks(&e, &p, 20, 10, 4 * NSEC_PER_SEC)); /* a capture asks */
    ck_assert(looks(&e, &p, 10, 20, UINT64_MAX));       /* counters of before the look */
    ck_assert(looks(&e, &p, 90, 60, UINT64_MAX));       /* old ones */
    ck_assert(looks(&e, &p, 600, 10, UINT64_MAX));
    ck_assert(!looks(&e, &p, 590, 10, UINT64_MAX));
    counters.shared_classes_loaded++;
    ck_assert(looks(&e, &p, 20, 10, UINT64_MAX));
    ck_assert(!looks(&e, &p, 20, 10, UINT64_MAX));
    vm->tracer.record.number = 1; /* its tracer has announced records */
    ck_assert(looks(&e, &p, 20, 10, UINT64_MAX));
    ck_assert(!looks(&e, &p, 20, 10, UINT64_MAX));
    e.settled = false; /* only for now */
    ck_assert(looks(&e, &p, 20, 10, UINT64_MAX));
    free(vm);
}
END_TEST

/* ---- threads' records ---- */

static struct context_path path_put; /* the last one; no steps: it was taken out */
static int put_count;

int __wrap_broker_put_context(struct broker *b, const struct proc_id *id,
                              const struct context_path *path, struct error *err);
int __wrap_broker_put_context(struct broker *b, const struct proc_id *id,
                              const struct context_path *path, struct error *err)
{
    (void)b, (void)id, (void)err;
    path_put = path ? *path : (struct context_path){ 0 };
    put_count++;
    return 0;
}

/* The recorder of requests, and a JVM without another tracer than the one that writes records. */
static struct captures captures;
static struct hotspot_vm *vm;
static struct counters counters;
static struct process process;

static void setup_records(void)
{
    vm = calloc(1, sizeof(*vm));
    ck_assert_ptr_nonnull(vm);
    atomic_init(&vm->users, 1);
    vm->proof.objects_off = true; /* no class is found */
    vm->tracer.record = (struct thread_record){ .known = true,
                                                .there = true,
                                                .number = 1,
                                                .variable = { 0x18, 3, 2 },
                                                .text_count = 1,
                                                .texts = { { 3, CONTEXT_NAME } } };
    counters = (struct counters){ .classes_loaded = 400 };
    process = (struct process){ .id = { .host_pid = 42, .start_ticks = 7 },
                                .jvm = JVM_READY,
                                .vm = vm,
                                .payer = 1,
                                .counters = &counters };
    memset(&captures, 0, sizeof(captures));
    captures.contexts.kind = &CONTEXTS;
    captures.recording.requests = true;
    path_put = (struct context_path){ 0 };
    put_count = 0;
}

static void teardown_records(void)
{
    probe_table_deinit(&captures.contexts);
    free(vm);
}

/* @is_later: after the time between two tries. */
static struct context_entry *reconcile(bool is_later)
{
    struct probe_entry *e = probe_table_find(&captures.contexts, &process.id, PROBE_NO_SET);

    if (e && is_later)
        e->asked.again_ns = 0;
    process.counters_ns = clock_monotonic_ns();
    captures_want_context(&captures, &process, UINT64_MAX);
    return (struct context_entry *)probe_table_find(&captures.contexts, &process.id, PROBE_NO_SET);
}

/* The indexes of attributes may have another meaning in other records, or in none. */
START_TEST(reads_changed_records_at_once)
{
    struct context_path first;

    ck_assert_ptr_nonnull(reconcile(false));
    ck_assert_int_eq(put_count, 1);
    ck_assert_uint_ne(path_put.step_count, 0);
    first = path_put;
    reconcile(false);
    ck_assert_int_eq(put_count, 1);
    vm->tracer.record.texts[0].index = 5;
    vm->tracer.record.number++;
    reconcile(false);
    ck_assert_int_eq(put_count, 2);
    ck_assert_mem_ne(&path_put, &first, sizeof(first));
    vm->tracer.record.known = vm->tracer.record.there = false;
    vm->tracer.record.number++;
    ck_assert_uint_eq(reconcile(false)->path.step_count, 0);
    ck_assert_int_eq(put_count, 3);
    ck_assert_uint_eq(path_put.step_count, 0);
    reconcile(true);
    ck_assert_int_eq(put_count, 3);
}
END_TEST

/* A record needs no class, so classes are searched as rarely as without a tracer. */
START_TEST(looks_seldom_beside_a_record)
{
    struct context_entry *e = reconcile(false);
    uint64_t looked_ns;

    for (int i = 0; i < 20; i++) { /* each look is due, and finds a new class */
        counters.classes_loaded++;
        e->looked_ns -= e->wait_ns;
        CONTEXTS.look(NULL, &e->entry);
        reconcile(true);
    }
    ck_assert_uint_eq(e->wait_ns, 600 * NSEC_PER_SEC);
    e->looked_ns -= 599 * NSEC_PER_SEC;
    looked_ns = e->looked_ns;
    e->wait_ns = 0;
    CONTEXTS.look(NULL, &e->entry);
    reconcile(true);
    ck_assert_uint_eq(e->looked_ns, looked_ns); /* no class since */
    counters.classes_loaded++;
    reconcile(true);
    ck_assert_uint_ne(e->looked_ns, looked_ns);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("request_context");
    TCase *tc = tcase_create("request_context"), *records = tcase_create("records");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, reads_texts, 0, 2);
    tcase_add_test(tc, reads_words);
    tcase_add_loop_test(tc, reads_a_record, 0, ARRAY_SIZE(RECORDS));
    tcase_add_loop_test(tc, refuses_what_is_no_id, 0, ARRAY_SIZE(WRONG));
    tcase_add_test(tc, zeros_are_no_request);
    tcase_add_loop_test(tc, reads_short_traces, 0, 2);
    tcase_add_test(tc, reads_a_name_without_ids);
    tcase_add_loop_test(tc, takes_ids_alone_from_a_log, 0, ARRAY_SIZE(LOGGED));
    tcase_add_loop_test(tc, takes_any_of_the_keys, 0, ARRAY_SIZE(KEYS));
    tcase_add_test(tc, takes_no_cut_uuid);
    tcase_add_test(tc, refuses_unknown_states);
    tcase_add_test(tc, cleans_names);
    tcase_add_test(tc, looks_again_after_a_class);
    suite_add_tcase(s, tc);
    tcase_add_checked_fixture(records, setup_records, teardown_records);
    tcase_add_test(records, reads_changed_records_at_once);
    tcase_add_test(records, looks_seldom_beside_a_record);
    suite_add_tcase(s, records);
    return suite_run(s);
}
