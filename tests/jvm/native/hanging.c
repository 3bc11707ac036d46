/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process of which something lies on FILE, whose file system may not answer:
 *
 *   hanging lock FILE   a reader of its memory, as of its command line, waits for a lock. A thread
 *                       reads a page of FILE by /proc/self/mem, and another wants to map something.
 *   hanging exec FILE   it executes another program, and closes FILE while it does
 *
 * Prints "started", and begins when its standard input ends: the kernel lets nobody map FILE while
 * one reads it. With lock it burns CPU, too.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096UL
#define FAR (1024 * PAGE) /* not its first page, which others may have read before */

static void *read_page(void *page)
{
    int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    char byte;

    return pread(fd, &byte, 1, (off_t)(uintptr_t)page) == 1 ? page : NULL;
}

/* Again and again, until it waits: for the other, which holds the lock to read. */
static void *map_page(void *arg)
{
    void *page;

    do {
        usleep(50000);
        page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    } while (page != MAP_FAILED && munmap(page, PAGE) == 0);
    return arg;
}

/* Says it before, since with the lock held it may wait for a page itself. */
static bool start(void)
{
    char byte;

    return write(STDOUT_FILENO, "started\n", 8) == 8 && read(STDIN_FILENO, &byte, 1) == 0;
}

static int hold_lock(int fd)
{
    void *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, FAR);
    pthread_t reader, mapper;

    if (page == MAP_FAILED || !start())
        return 1;
    if (pthread_create(&mapper, NULL, map_page, NULL) != 0 ||
        pthread_create(&reader, NULL, read_page, page) != 0)
        return 1;
    for (;;)
        __asm__ volatile("");
}

int main(int argc, char **argv)
{
    int fd = argc == 3 ? open(argv[2], O_RDONLY | O_CLOEXEC) : -1;

    if (fd < 0)
        return 1;
    if (strcmp(argv[1], "lock") == 0)
        return hold_lock(fd);
    if (start())
        execl("/bin/sleep", "sleep", "3600", NULL);
    return 1;
}
