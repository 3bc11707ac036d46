/* SPDX-License-Identifier: Apache-2.0 */
/* The agent in a fake JVM. A flamed under an attacker's control must not be able to make the agent
 * write outside their shared memory. */
#include "suite.h"

#include "agent/jvmti_slots.h"
#include "agent/stream.h"
#include "base/clock.h"
#include "base/macros.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096

typedef void load_fn(jvmti_env *, jvmti_id, int32_t, const void *, int32_t, const void *,
                     const void *);

static load_fn *on_load;

static int32_t nothing(void)
{
    return 0;
}

static int32_t failure(void)
{
    return 1;
}

static int32_t set_callbacks(jvmti_env *env, void *const *callbacks, int32_t bytes)
{
    (void)env;
    (void)bytes;
    on_load = (load_fn *)callbacks[JVMTI_COMPILED_METHOD_LOAD - JVMTI_EVENT_FIRST];
    return 0;
}

static void *functions[JVMTI_SET_HEAP_SAMPLING_INTERVAL];
static void *environment = functions;

static int32_t get_env(jvmti_vm *vm, void **ret, int32_t version)
{
    (void)vm;
    (void)version;
    *ret = &environment;
    return 0;
}

/* Loads the agent with a fresh stream, and returns flamed's mapping of it. An inaccessible page
 * lies right behind the agent's own mapping, since the kernel puts one mapping below the other. */
static struct stream_header *attach(void)
{
    static void *vm_functions[JVMTI_VM_GET_ENV + 1], *vm = vm_functions;
    struct stream_header h = { .magic = STREAM_MAGIC,
                               .version = STREAM_VERSION,
                               .lease_ns = clock_monotonic_ns() + STREAM_LEASE_MAX_NS };
    void *library = dlopen(FLAMED_AGENT, RTLD_NOW);
    int32_t (*on_attach)(jvmti_vm *, char *, void *);
    int fd = memfd_create("stream", 0);
    char path[40], *ours;

    ck_assert_msg(library != NULL, "%s", dlerror());
    on_attach = (int32_t(*)(jvmti_vm *, char *, void *))dlsym(library, "Agent_OnAttach");
    ck_assert_ptr_nonnull(on_attach);
    for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
        functions[i] = (void *)nothing;
    functions[JVMTI_GET_METHOD_NAME - 1] = (void *)failure;
    functions[JVMTI_GET_METHOD_DECLARING_CLASS - 1] = (void *)failure;
    functions[JVMTI_GET_LINE_NUMBER_TABLE - 1] = (void *)failure;
    functions[JVMTI_SET_EVENT_CALLBACKS - 1] = (void *)set_callbacks;
    vm_functions[JVMTI_VM_GET_ENV] = (void *)get_env;
    ck_assert_int_eq(ftruncate(fd, (off_t)STREAM_BYTES), 0);
    ck_assert_int_eq(pwrite(fd, &h, sizeof(h), 0), sizeof(h));
    ours = mmap(NULL, STREAM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(ours, MAP_FAILED);
    ck_assert_ptr_ne(mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), MAP_FAILED);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    ck_assert_int_eq(on_attach(&vm, path, NULL), 0);
    ck_assert_uint_eq(((struct stream_header *)ours)->state, STREAM_STREAMING);
    return (struct stream_header *)ours;
}

static void load(uint64_t method)
{
    on_load((jvmti_env *)&environment, (jvmti_id)(uintptr_t)method, 64, (void *)0x1000, 0, NULL,
            NULL);
}

/* ---- a redefined class ---- */

static struct jvmti_line lines[] = { { 0, 10 }, { 4, 11 } };
static unsigned lines_asked, lines_freed;
static int32_t lines_error;

static int32_t get_lines(jvmti_env *env, jvmti_id method, int32_t *ret_count,
                         struct jvmti_line **ret)
{
    (void)env;
    (void)method;
    lines_asked++;
    if (lines_error)
        return lines_error;
    *ret_count = ARRAY_SIZE(lines);
    *ret = lines;
    return 0;
}

static int32_t deallocate(jvmti_env *env, void *p)
{
    (void)env;
    lines_freed += p == lines;
    return 0;
}

/* Finds the last record of @kind, and counts all of them in *ret_count. */
static const void *last_record(const struct stream_header *h, uint16_t kind, unsigned *ret_count)
{
    const struct stream_record *r, *last = NULL;

    *ret_count = 0;
    for (uint64_t at = 0; at < h->head; at += r->bytes) {
        r = (const struct stream_record *)((const char *)h + STREAM_RING_AT + at);
        if (r->kind == kind) {
            last = r;
            ++*ret_count;
        }
    }
    return last;
}

/* The JVM keeps the ids of its methods. Code of the new version gets another number, as the older
 * code may still run. */
START_TEST(a_redefined_method_gets_a_new_number)
{
    struct stream_header *h = attach();
    const struct stream_method *m;
    const struct stream_load *l;
    unsigned count, asked;

    functions[JVMTI_GET_LINE_NUMBER_TABLE - 1] = (void *)get_lines;
    functions[JVMTI_DEALLOCATE - 1] = (void *)deallocate;
    load(0x10);
    load(0x20);
    load(0x10);
    m = last_record(h, STREAM_METHOD, &count);
    ck_assert_uint_eq(count, 2);
    ck_assert_uint_eq(m->id, 2);
    lines[1].line = 12;
    load(0x10);
    m = last_record(h, STREAM_METHOD, &count);
    ck_assert_uint_eq(count, 3);
    ck_assert_uint_eq(m->id, 3);
    ck_assert_int_eq(((const struct stream_line *)(m + 1))[1].line, 12);
    l = last_record(h, STREAM_LOAD, &count);
    ck_assert_uint_eq(count, 4);
    ck_assert_uint_eq(l->method, 3);
    asked = lines_asked;
    load(0x10);
    ck_assert_uint_eq(lines_asked, asked + 1);
    l = last_record(h, STREAM_LOAD, &count);
    ck_assert_uint_eq(l->method, 3);
    ck_assert_uint_eq(lines_freed, lines_asked);
    h->state = STREAM_REPLAYING; /* code from before the session: all of it is asked for anyway */
    load(0x20);
    ck_assert_uint_eq(lines_asked, asked + 1);
}
END_TEST

/* The JVM has no memory for the answer, or has just unloaded the class: the first name stays. */
START_TEST(a_failed_question_changes_nothing)
{
    enum { INVALID_METHODID = 23, ABSENT_INFORMATION = 101, OUT_OF_MEMORY = 110 };
    static const int32_t FAILURES[] = { INVALID_METHODID, OUT_OF_MEMORY };
    struct stream_header *h = attach();
    const struct stream_method *m;
    const struct stream_load *l;
    unsigned count, asked;

    functions[JVMTI_GET_LINE_NUMBER_TABLE - 1] = (void *)get_lines;
    functions[JVMTI_DEALLOCATE - 1] = (void *)deallocate;
    load(0x10);
    asked = lines_asked;
    for (size_t i = 0; i < ARRAY_SIZE(FAILURES); i++) {
        lines_error = FAILURES[i];
        load(0x10);
        ck_assert_uint_eq(lines_asked, ++asked);
        last_record(h, STREAM_METHOD, &count);
        ck_assert_uint_eq(count, 1);
        l = last_record(h, STREAM_LOAD, &count);
        ck_assert_uint_eq(l->method, 1);
    }
    lines_error = ABSENT_INFORMATION; /* an answer: the new version has no lines */
    load(0x10);
    m = last_record(h, STREAM_METHOD, &count);
    ck_assert_uint_eq(count, 2);
    ck_assert_uint_eq(m->line_count, 0);
    lines_error = 0;
}
END_TEST

/* There was no room for the new version: it is written with the next load. */
START_TEST(a_new_version_without_room_is_not_forgotten)
{
    struct stream_header *h = attach();
    const struct stream_load *l;
    unsigned count;

    functions[JVMTI_GET_LINE_NUMBER_TABLE - 1] = (void *)get_lines;
    functions[JVMTI_DEALLOCATE - 1] = (void *)deallocate;
    load(0x10);
    lines[1].line = 13;
    h->tail = UINT64_MAX; /* no room */
    load(0x10);
    ck_assert_uint_gt(h->dropped, 0);
    h->tail = 0;
    load(0x20); /* counts as the next */
    load(0x10);
    l = last_record(h, STREAM_LOAD, &count);
    ck_assert_uint_eq(count, 3);
    ck_assert_uint_eq(l->method, 3);
}
END_TEST

/* One load may have the same methods at each of its pcs. */
START_TEST(a_load_asks_once_for_each_method)
{
    enum { METHODS = 200, PCS = 400 };
    static jvmti_id methods[METHODS];
    static int32_t bcis[METHODS];
    static struct jvmti_pc pcs[PCS];
    const struct jvmti_inline in = { .header = { JVMTI_CMLR_INLINE, 1, 0, NULL },
                                     .pc_count = ARRAY_SIZE(pcs),
                                     .pcs = pcs };

    attach();
    functions[JVMTI_GET_LINE_NUMBER_TABLE - 1] = (void *)get_lines;
    functions[JVMTI_DEALLOCATE - 1] = (void *)deallocate;
    for (size_t i = 0; i < METHODS; i++)
        methods[i] = (jvmti_id)(0x1000 + 8 * i);
    for (size_t i = 0; i < ARRAY_SIZE(pcs); i++)
        pcs[i] = (struct jvmti_pc){ (void *)(0x1008 + 8 * i), 50, methods + i % 4 * 50, bcis };
    for (unsigned i = 0; i < 2; i++) {
        lines_asked = 0;
        on_load((jvmti_env *)&environment, methods[0], 64, (void *)0x1000, 0, NULL, &in);
        ck_assert_uint_eq(lines_asked, METHODS);
    }
}
END_TEST

/* A position within a record, one byte before the end of the ring. */
START_TEST(a_false_head_moves_nothing)
{
    struct stream_header *h = attach();
    uint64_t head;

    load(0x10);
    head = h->head;
    ck_assert_uint_gt(head, 0);
    h->head = STREAM_RING_BYTES - 1;
    h->tail = STREAM_RING_BYTES - 1;
    load(0x20); /* once wrote seven bytes behind its mapping */
    h->tail = 0;
    load(0x30);
    ck_assert_msg(h->head % 8 == 0 && h->head < 16 * head, "it went on at %ju", (uintmax_t)h->head);
}
END_TEST

/* All slots of the agent's notes are taken: it reads only a few of them. */
START_TEST(a_full_table_costs_little)
{
    struct stream_header *h = attach();
    uint64_t *slots = (uint64_t *)((char *)h + STREAM_TABLE_AT);

    for (uint64_t i = 0; i < STREAM_TABLE_SLOTS; i++)
        slots[2 * i] = UINT64_MAX;
    for (uint64_t i = 0; i < 200000; i++) { /* takes minutes if all slots are read */
        load(0x1000 + 8 * i);
        h->tail = h->head;
    }
    ck_assert_uint_eq(h->dropped, 0);
}
END_TEST

/* A flamed that is about to end could set a lease for ever. */
START_TEST(a_lease_has_an_end)
{
    struct stream_header *h = attach();

    load(0x10);
    ck_assert_int_eq(h->state, STREAM_STREAMING);
    h->lease_ns = _i ? UINT64_MAX : clock_monotonic_ns() + 2 * STREAM_LEASE_MAX_NS;
    load(0x20);
    ck_assert_int_eq(h->state, STREAM_ENDED);
}
END_TEST

/* ---- a flamed that changes what the agent has just written ---- */

#define FRAMES_ASKED 1000 /* far beyond the record */

static struct stream_header *attacked;
static int32_t *bcis; /* a page that cannot be read until attack() */

static struct stream_pc *first_pc(uint64_t head)
{
    char *record = (char *)attacked + STREAM_RING_AT + head;

    return (struct stream_pc *)(record + sizeof(struct stream_load));
}

/* Runs while the agent writes the first frame: it is about to read the frame's bci. */
static void attack(int signal)
{
    (void)signal;
    first_pc(attacked->head)->frame_count = FRAMES_ASKED;
    mprotect(bcis, PAGE, PROT_READ | PROT_WRITE);
}

/* The agent once took the number of frames from the memory that it shares with flamed, and wrote
 * frames up to the end of its mapping and beyond it. */
START_TEST(a_false_frame_count_moves_nothing)
{
    static const jvmti_id METHODS[FRAMES_ASKED] = { (jvmti_id)0x10, (jvmti_id)0x20 };
    struct jvmti_pc pcs[] = { { (void *)0x1008, 1, METHODS, NULL },
                              { (void *)0x1010, 2, METHODS, NULL } };
    const struct jvmti_inline in = { .header = { JVMTI_CMLR_INLINE, 1, 0, NULL },
                                     .pc_count = ARRAY_SIZE(pcs),
                                     .pcs = pcs };
    const struct stream_pc *second;
    const char *end;

    attacked = attach();
    bcis = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(bcis, MAP_FAILED);
    memset(bcis, 0x7f, PAGE);
    pcs[0].bcis = pcs[1].bcis = bcis;
    mprotect(bcis, PAGE, PROT_NONE);
    signal(SIGSEGV, attack);
    on_load((jvmti_env *)&environment, (jvmti_id)0x10, 64, (void *)0x1000, 0, NULL, &in);
    end = (const char *)attacked + STREAM_RING_AT + attacked->head;
    second = (const struct stream_pc *)(end - 2 * sizeof(struct stream_frame)) - 1;
    ck_assert_uint_eq(second->offset, 0x10);
    ck_assert_uint_eq(second->frame_count, 2);
    ck_assert_uint_eq((second - 2)->frame_count, FRAMES_ASKED); /* the attack came in time */
    for (size_t i = 0; i < FRAMES_ASKED * sizeof(struct stream_frame); i++)
        ck_assert_msg(end[i] == 0, "byte %zu behind the record was written", i);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("agent");

    tcase_set_timeout(tc, 20);
    tcase_add_test(tc, a_false_head_moves_nothing);
    tcase_add_test(tc, a_full_table_costs_little);
    tcase_add_test(tc, a_redefined_method_gets_a_new_number);
    tcase_add_test(tc, a_failed_question_changes_nothing);
    tcase_add_test(tc, a_new_version_without_room_is_not_forgotten);
    tcase_add_test(tc, a_load_asks_once_for_each_method);
    tcase_add_loop_test(tc, a_lease_has_an_end, 0, 2);
    tcase_add_test(tc, a_false_frame_count_moves_nothing);
    return suite_run_case("agent", tc);
}
