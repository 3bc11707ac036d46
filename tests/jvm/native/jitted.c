/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A runtime that makes code while it runs: a loop in anonymous memory, which main calls. Prints
 * "ADDRESS BYTES" of it in hexadecimal, as a perf map has them, and begins after a line of input.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES 65536
#define TURNS 3000000

/* push rbp; mov rbp,rsp; 1: dec rdi; jnz 1b; pop rbp; ret */
static const uint8_t CODE[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0x5d, 0xc3 };

int main(void)
{
    uint8_t *code =
        mmap(NULL, BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (code == MAP_FAILED)
        return 1;
    memcpy(code, CODE, sizeof(CODE));
    printf("%lx %zx\n", (unsigned long)(uintptr_t)code, sizeof(CODE));
    fflush(stdout);
    getchar();
    for (;;) {
        ((void (*)(uint64_t))(void *)code)(TURNS);
        usleep(1000);
    }
}
