/* SPDX-License-Identifier: Apache-2.0 */
/* A process with as many mappings as the kernel allows, each of a file with a long name, that burns
 * CPU: manymaps FILE. Prints "started MAPPINGS". */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

__attribute__((noinline)) static void burn_here(void)
{
    for (;;)
        __asm__ volatile("");
}

int main(int argc, char **argv)
{
    int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1, count = 0;

    while (fd >= 0 && mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED)
        count++;
    printf("started %d\n", count);
    fflush(stdout);
    burn_here();
}
