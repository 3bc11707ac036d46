/* SPDX-License-Identifier: Apache-2.0 */
/*
 * virtual_cost PID [DRAWS [LOOKS]]: what it costs to read virtual threads of a JVM that goes on, as
 * events of waiting do 20 times a second, and as the dump of threads does with all of them.
 * Reported are CPU time and reads of memory.
 */
#include "base/clock.h"
#include "hotspot/thread_dump.h"
#include "tests/read_jvm.h"

#define LOOKS_MAX 10001
#define LOOKS_A_SECOND 20

static struct hotspot_dump_batch batch;
static struct read_counter reads;

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void draw(struct hotspot_vm *vm, uint32_t draws, uint32_t looks)
{
    static double us[LOOKS_MAX];
    uint64_t threads = 0, changed = 0, failed = 0;
    double weight = 0;

    reads.count = 0;
    for (uint32_t i = 0; i < looks; i++) {
        uint64_t began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

        batch.is_virtual = true;
        batch.draws = draws;
        batch.random = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
        failed += hotspot_dump_threads(vm, &batch) != 0;
        us[i] = (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns) / 1000;
        threads += batch.count;
        weight += batch.weight * batch.count;
        for (uint32_t t = 0; t < batch.count; t++)
            changed += batch.threads[t].stack == DUMP_STACK_CHANGED;
    }
    qsort(us, looks, sizeof(*us), compare);
    printf("a look: %.0f us (median), %.1f threads, %.1f reads; %.2f %% of a processor at %u "
           "Hz; of "
           "%.0f threads; %llu changed, %llu failed\n",
           us[looks / 2], (double)threads / looks, (double)reads.count / looks,
           us[looks / 2] * LOOKS_A_SECOND / 10000, LOOKS_A_SECOND, weight / looks,
           (unsigned long long)changed, (unsigned long long)failed);
}

static void dump(struct hotspot_vm *vm)
{
    uint64_t began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), threads = 0, changed = 0;

    reads.count = 0;
    batch = (struct hotspot_dump_batch){ .is_virtual = true };
    while (!batch.ended && hotspot_dump_threads(vm, &batch) == 0) {
        threads += batch.count;
        for (uint32_t t = 0; t < batch.count; t++)
            changed += batch.threads[t].stack == DUMP_STACK_CHANGED;
    }
    printf("all: %.0f ms, %llu threads, %llu reads; %llu changed\n",
           (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns) / 1e6,
           (unsigned long long)threads, (unsigned long long)reads.count,
           (unsigned long long)changed);
}

int main(int argc, char **argv)
{
    uint32_t draws = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 100;
    uint32_t looks = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 501;
    struct read_jvm jvm;

    if (argc < 2 || !draws || !looks || looks > LOOKS_MAX) {
        fprintf(stderr, "usage: %s PID [DRAWS [LOOKS]]\n", argv[0]);
        return 2;
    }
    jvm = read_jvm_open((pid_t)strtol(argv[1], NULL, 10));
    read_counter_start(&reads, jvm.vm);
    draw(jvm.vm, draws, looks);
    dump(jvm.vm);
    read_jvm_close(&jvm);
    return 0;
}
