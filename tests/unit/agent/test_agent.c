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
    tcase_add_loop_test(tc, a_lease_has_an_end, 0, 2);
    tcase_add_test(tc, a_false_frame_count_moves_nothing);
    return suite_run_case("agent", tc);
}
