/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaf_cost PID [ROUNDS]: the cost of naming the leaves of the bench's JVM, with and without maps
 * of loops (hotspot/code/leaf_map.h). The JVM is stopped meanwhile. Each round names the same
 * number of pcs of each piece of code, without maps and with them, by readers with empty caches.
 * Reported are the medians of CPU time per pc, and of the ratio within one round.
 */
#include "base/clock.h"
#include "tests/read_jvm.h"

#include <signal.h>

#define CODES_MAX 512
#define ROUNDS_MAX 101

static const uint32_t PCS[] = { 1, 3, 10, 30, 100 }; /* of one piece of code */

static struct hotspot_code codes[CODES_MAX];
static size_t code_count;

static int add_code(void *cookie, const struct hotspot_code *c)
{
    (void)cookie;
    if (c->kind == HOTSPOT_CODE_COMPILED && code_count < CODES_MAX)
        codes[code_count++] = *c;
    return 0;
}

/* Names @pc of @code like symbolize/: its frames, their methods and lines. */
static void name(struct hotspot_vm *vm, uint64_t pc)
{
    struct hotspot_location at[HOTSPOT_INLINE_MAX];
    struct hotspot_method m;
    struct hotspot_code code;

    if (hotspot_code_find(vm, pc, &code) != 0)
        return;
    for (int i = 0, n = hotspot_code_locate(vm, &code, pc, false, at); i < n; i++) {
        hotspot_method_read(vm, at[i].method, &m);
        hotspot_method_line(vm, at[i].method, at[i].bci);
    }
}

/* Returns the nanoseconds of CPU time that naming @pcs of each piece of code takes. */
static double measure(pid_t pid, uint32_t pcs, bool with_maps)
{
    struct read_jvm jvm = read_jvm_open(pid);
    uint64_t began_ns;

    jvm.vm->layout.run = with_maps;
    name(jvm.vm, codes[0].start); /* reads what is read once per JVM */
    began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (size_t c = 0; c < code_count; c++) {
        for (uint32_t i = 0; i < pcs; i++)
            name(jvm.vm,
                 codes[c].start + (codes[c].end - codes[c].start) * (2 * i + 1) / (2 * pcs));
    }
    began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
    read_jvm_close(&jvm);
    return (double)began_ns;
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static double median(double *of, size_t n)
{
    qsort(of, n, sizeof(*of), compare);
    return of[n / 2];
}

static void report(pid_t pid, uint32_t pcs, size_t rounds)
{
    double without[ROUNDS_MAX], with[ROUNDS_MAX], ratio[ROUNDS_MAX];
    double all = (double)(code_count * pcs) * 1000;

    for (size_t i = 0; i < rounds; i++) {
        bool first = i % 2; /* neither always comes second */

        if (first)
            with[i] = measure(pid, pcs, true);
        without[i] = measure(pid, pcs, false);
        if (!first)
            with[i] = measure(pid, pcs, true);
        ratio[i] = with[i] / without[i];
    }
    printf("| %u | %.1f | %.1f | %.2f |\n", pcs, median(without, rounds) / all,
           median(with, rounds) / all, median(ratio, rounds));
}

int main(int argc, char **argv)
{
    size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 11;
    struct read_jvm jvm;
    pid_t pid;

    if (argc < 2 || rounds == 0 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: %s PID [ROUNDS]\n", argv[0]);
        return 2;
    }
    pid = (pid_t)strtol(argv[1], NULL, 10);
    kill(pid, SIGSTOP);
    jvm = read_jvm_open(pid);
    hotspot_vm_codes(jvm.vm, &(struct hotspot_codes_at){ 0 }, add_code, NULL);
    read_jvm_close(&jvm);
    printf("%zu pieces of code\n| pcs of each | µs a pc without maps | with | ratio |\n"
           "| --- | --- | --- | --- |\n",
           code_count);
    for (size_t i = 0; code_count > 0 && i < ARRAY_SIZE(PCS); i++)
        report(pid, PCS[i], rounds);
    kill(pid, SIGCONT);
    return 0;
}
