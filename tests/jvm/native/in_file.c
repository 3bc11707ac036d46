/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the code at offset 4096 of each file that it is given, one after the other, without end. It
 * rests for REST_MS of its environment after each. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define FILES_MAX 256

int main(int argc, char **argv)
{
    void *code[FILES_MAX];
    int count = argc - 1;
    const char *rest_ms = getenv("REST_MS");
    useconds_t rest_us = rest_ms ? (useconds_t)strtoul(rest_ms, NULL, 10) * 1000 : 0;

    if (count < 1 || count > FILES_MAX)
        return 1;
    for (int i = 0; i < count; i++) {
        int fd = open(argv[i + 1], O_RDONLY);

        code[i] = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 4096);
        close(fd);
        if (code[i] == MAP_FAILED)
            return 1;
    }
    puts("started");
    fflush(stdout);
    for (int i = 0;; i = (i + 1) % count) {
        ((void (*)(void))code[i])();
        if (rest_us)
            usleep(rest_us);
    }
}
