/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child that looks like a JVM to flamed-broker: it maps a file named libjvm.so to execute. For
 * tests that use broker_fixture.h.
 */
#pragma once

#include "broker_fixture.h"

static const char ELF_BYTES[] = "\177ELF\2\1\1xxxxxxxxx\3\0 and so on";

/* The mappings of a child. The parent sees them, too: the memory is shared by the fork. */
struct layout {
    uint64_t jvm, deleted, data, zero, anonymous;
    size_t jvm_n;
};
static struct layout *layout;

static inline uint64_t map_file(const char *path, int prot)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *p = mmap(NULL, 8192, prot, MAP_PRIVATE, fd, 0);

    if (fd < 0 || p == MAP_FAILED)
        _exit(3);
    close(fd);
    return (uint64_t)(uintptr_t)p;
}

/* Makes the child a JVM for the broker: maps a libjvm.so to execute. */
static inline void be_jvm(void *cookie)
{
    char path[128];

    (void)cookie;
    snprintf(path, sizeof(path), "%s/libjvm.so", fx.dir);
    layout->jvm = map_file(path, PROT_READ | PROT_EXEC);
    layout->data = map_file(path, PROT_READ);
    snprintf(path, sizeof(path), "%s/deleted.so", fx.dir);
    layout->deleted = map_file(path, PROT_READ | PROT_EXEC);
    unlink(path);
    layout->zero = map_file("/dev/zero", PROT_READ | PROT_EXEC);
    layout->anonymous = (uint64_t)(uintptr_t)mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
                                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static inline pid_t start_jvm(void)
{
    char path[128], bytes[8192] = "\177ELF";

    snprintf(path, sizeof(path), "%s/libjvm.so", fx.dir);
    write_file(path, bytes, sizeof(bytes));
    snprintf(path, sizeof(path), "%s/deleted.so", fx.dir);
    write_file(path, bytes, sizeof(bytes));
    return start_child(be_jvm, NULL);
}

/* fixture_start(), a client, and memory for the layout. */
static inline void fixture_open(void)
{
    fixture_with_client();
    layout = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static inline void fixture_shut(void)
{
    munmap(layout, 4096);
    fixture_stop();
}
