/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mapped_code MEGABYTES: a runtime that generates code, and a perf map of so many megabytes of it.
 * One function of all runs, the last one in the map.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* push rbp; mov rbp, rsp; mov ecx, 1 << 16; 1: dec ecx; jnz 1b; pop rbp; ret */
static const unsigned char SPIN[] = { 0x55, 0x48, 0x89, 0xe5, 0xb9, 0,    0,   1,
                                      0,    0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3 };

int main(int argc, char **argv)
{
    size_t bytes = argc > 1 ? strtoul(argv[1], NULL, 10) << 20 : 0, written = 0;
    unsigned char *code =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void (*run)(void);
    char path[64];
    FILE *map;

    snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
    map = fopen(path, "we");
    if (code == MAP_FAILED || !map)
        return 1;
    memcpy(code, SPIN, sizeof(SPIN));
    memcpy(&run, &code, sizeof(run));
    for (uint64_t at = 0x10000; written < bytes; at += 64)
        written += (size_t)fprintf(map, "%jx 40 generated_function_that_never_runs_%jx\n",
                                   (uintmax_t)at, (uintmax_t)at);
    fprintf(map, "%jx 40 the_function_that_runs\n", (uintmax_t)(uintptr_t)code);
    if (fclose(map) != 0)
        return 1;
    puts("started");
    fflush(stdout);
    for (;;)
        run();
}
