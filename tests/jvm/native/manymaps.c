/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process with as many mappings as the kernel allows, each of a file with a long name, that burns
 * CPU. Prints "started MAPPINGS".
 *
 *   manymaps FILE [LIBJVM MAPPINGS MICROSECONDS]
 *
 * With LIBJVM, the path of a file that it maps to execute below all others, it is taken for a JVM.
 * It then maps FILE MAPPINGS times, every other time to execute, and burns MICROSECONDS of each
 * tenth of a second. It does so from the folder of FILE, whose path may be too long to be given.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define TURN_NS 100000000
#define BELOW_ALL ((void *)0x10000000)

static long long cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* @turn_ns of each turn; all of it where it is that long. */
__attribute__((noinline)) static void burn_here(long turn_ns)
{
    for (;;) {
        long long until = cpu_ns() + turn_ns;

        while (turn_ns >= TURN_NS || cpu_ns() < until)
            __asm__ volatile("");
        nanosleep(&(struct timespec){ .tv_nsec = TURN_NS - turn_ns }, NULL);
    }
}

int main(int argc, char **argv)
{
    int fd = argc >= 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1, count = 0, fake = argc == 5;
    int jvm = fake ? open(argv[2], O_RDONLY | O_CLOEXEC) : -1;
    int most = fake ? (int)strtol(argv[3], NULL, 10) : 1 << 30;

    if (fake && mmap(BELOW_ALL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, jvm, 0) != BELOW_ALL)
        return 1;
    while (fd >= 0 && count < most &&
           mmap(NULL, 4096, fake && count % 2 ? PROT_READ | PROT_EXEC : PROT_READ, MAP_PRIVATE, fd,
                0) != MAP_FAILED)
        count++;
    printf("started %d\n", count);
    fflush(stdout);
    burn_here(fake ? strtol(argv[4], NULL, 10) * 1000 : TURN_NS);
}
