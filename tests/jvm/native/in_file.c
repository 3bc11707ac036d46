/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the code at offset 4096 of the file that it is given, without end. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
    int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;
    void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 4096);

    if (code == MAP_FAILED)
        return 1;
    puts("started");
    fflush(stdout);
    for (;;)
        ((void (*)(void))code)();
}
