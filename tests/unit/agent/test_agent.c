/* SPDX-License-Identifier: Apache-2.0 */
/* The agent in a fake JVM. A flamed under an attacker's control must not be able to make the agent
 * write outside their shared memory. */
#include "suite.h"

#include "agent/jvmti_slots.h"
#include "agent/stream.h"
#include "base/macros.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
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
                               .lease_ns = UINT64_MAX };
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

int main(void)
{
    TCase *tc = tcase_create("agent");

    tcase_set_timeout(tc, 20);
    tcase_add_test(tc, a_false_head_moves_nothing);
    tcase_add_test(tc, a_full_table_costs_little);
    return suite_run_case("agent", tc);
}
