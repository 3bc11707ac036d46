/* SPDX-License-Identifier: Apache-2.0 */
/*
 * virtual_cost PID [DRAWS [LOOKS]]: what it costs to read virtual threads of a JVM that goes on, as
 * events of waiting do 20 times a second, and as the dump of threads does with all of them.
 * Reported are CPU time and reads of memory.
 */
#include "base/clock.h"
#include "hotspot/thread_dump.h"
#include "hotspot/vm.h"

#include <fcntl.h>

#define LOOKS_MAX 10001
#define LOOKS_A_SECOND 20

static struct hotspot_dump_batch batch;
static memory_read_fn read_fn;
static uint64_t reads;

static ssize_t count_read(void *cookie, uint64_t address, void *buf, size_t n)
{
    reads++;
    return read_fn(cookie, address, buf, n);
}

static uint64_t find_libjvm(const char *pid)
{
    char path[64], line[1024];
    uint64_t base = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%s/maps", pid);
    f = fopen(path, "re");
    while (f && !base && fgets(line, sizeof(line), f)) {
        if (strstr(line, "/libjvm.so"))
            base = strtoull(line, NULL, 16);
    }
    if (f)
        fclose(f);
    return base;
}

static struct hotspot_vm *open_vm(const char *pid)
{
    struct hotspot_vm *vm = NULL;
    char path[64];
    int fd;

    snprintf(path, sizeof(path), "/proc/%s/mem", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || hotspot_vm_open(fd, NULL, find_libjvm(pid), &vm, NULL) != 0) {
        fprintf(stderr, "process %s cannot be read\n", pid);
        exit(2);
    }
    read_fn = vm->memory.read;
    vm->memory.read = count_read;
    return vm;
}

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

    reads = 0;
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
    printf(
        "a look: %.0f us (median), %.1f threads, %.1f reads; %.2f %% of a processor at %u Hz; of "
        "%.0f threads; %llu changed, %llu failed\n",
        us[looks / 2], (double)threads / looks, (double)reads / looks,
        us[looks / 2] * LOOKS_A_SECOND / 10000, LOOKS_A_SECOND, weight / looks,
        (unsigned long long)changed, (unsigned long long)failed);
}

static void dump(struct hotspot_vm *vm)
{
    uint64_t began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), threads = 0, changed = 0;

    reads = 0;
    batch = (struct hotspot_dump_batch){ .is_virtual = true };
    while (!batch.ended && hotspot_dump_threads(vm, &batch) == 0) {
        threads += batch.count;
        for (uint32_t t = 0; t < batch.count; t++)
            changed += batch.threads[t].stack == DUMP_STACK_CHANGED;
    }
    printf("all: %.0f ms, %llu threads, %llu reads; %llu changed\n",
           (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns) / 1e6,
           (unsigned long long)threads, (unsigned long long)reads, (unsigned long long)changed);
}

int main(int argc, char **argv)
{
    uint32_t draws = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 100;
    uint32_t looks = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 501;
    struct hotspot_vm *vm;

    if (argc < 2 || !draws || !looks || looks > LOOKS_MAX) {
        fprintf(stderr, "usage: %s PID [DRAWS [LOOKS]]\n", argv[0]);
        return 2;
    }
    vm = open_vm(argv[1]);
    draw(vm, draws, looks);
    dump(vm);
    hotspot_vm_close(vm);
    return 0;
}
