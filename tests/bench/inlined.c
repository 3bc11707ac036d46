/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nm FILE | awk '{print $1}' | inlined FILE: the functions inlined at those addresses, in the form
 * of `addr2line -a -f -i`. Prints the times of the first and the second look-up to stderr.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "dwarf/dwarf.h"

#include <fcntl.h>
#include <sys/resource.h>

#define ADDRESSES_MAX 100000
#define CPU_NS (100 * NSEC_PER_SEC)

static void print(const struct dwarf_answers *a, const uint64_t *addresses)
{
    for (size_t i = 0; i < a->count; i++) {
        printf("0x%016llx\n", (unsigned long long)addresses[i]);
        for (size_t k = 0; k < a->of[i].count; k++) {
            const struct dwarf_frame *f = &a->frames[a->of[i].first + k];
            struct span name = intern_get(a->strings, f->name);
            struct span file = intern_get(a->strings, f->file);

            printf("%.*s\n%.*s:%u\n", (int)name.n, name.p, (int)file.n, file.p, f->line);
        }
    }
}

static int look(struct dwarf *d, const uint64_t *addresses, size_t count, const char *which,
                bool show)
{
    _cleanup_(dwarf_answers_deinit) struct dwarf_answers a = { 0 };
    uint64_t wall = clock_monotonic_ns(), cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    struct rusage used;
    int r = dwarf_look_up(d, addresses, count, CPU_NS, &a);

    if (r < 0)
        return r;
    cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
    wall = clock_monotonic_ns() - wall;
    getrusage(RUSAGE_SELF, &used);
    fprintf(stderr, "%s: %zu addresses, %.1f ms CPU, %.1f ms, at most %ld MiB\n", which, count,
            (double)cpu / 1e6, (double)wall / 1e6, used.ru_maxrss >> 10);
    if (show)
        print(&a, addresses);
    return 0;
}

int main(int argc, char **argv)
{
    static uint64_t addresses[ADDRESSES_MAX];
    _cleanup_(dwarf_closep) struct dwarf *d = NULL;
    _cleanup_close_ int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
    char line[256];
    size_t count = 0;

    if (fd < 0 || dwarf_open(fd, &d) < 0) {
        fprintf(stderr, "inlined FILE <ADDRESSES: a file with debug information\n");
        return 1;
    }
    while (count < ADDRESSES_MAX && fgets(line, sizeof(line), stdin))
        addresses[count++] = strtoull(line, NULL, 16);
    return look(d, addresses, count, "first", true) < 0 ||
           look(d, addresses, count, "again", false) < 0;
}
