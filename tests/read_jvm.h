/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the memory of a running JVM without a broker, for tests, benches and recorders. */
#pragma once

#include "hotspot/vm.h"
#include "tests/maps_of.h"

#include <fcntl.h>

/* Opens /proc/PID/FILE. Return: a descriptor, owned; -1. */
static inline int open_proc_file(pid_t pid, const char *file)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Return: the address of libjvm among @maps; 0: not mapped. */
static inline uint64_t libjvm_of(const struct maps *maps)
{
    for (size_t i = 0; i < maps->count; i++) {
        if (maps->entries[i].offset == 0 && span_ends_with(maps->entries[i].path, "/libjvm.so"))
            return maps->entries[i].start;
    }
    return 0;
}

/* Return: the address of libjvm in process @pid; 0: not mapped. */
static inline uint64_t find_libjvm(pid_t pid)
{
    int fd = open_proc_file(pid, "maps");
    struct maps maps = { 0 };
    uint64_t address;

    if (fd >= 0)
        maps_of(fd, &maps);
    address = libjvm_of(&maps);
    maps_deinit(&maps);
    close_fd(fd);
    return address;
}

struct read_jvm {
    int mem_fd;
    uint64_t libjvm;
    struct hotspot_vm *vm;
};

/* Opens the JVM @pid. Exits with 2 if it cannot be read. */
static inline struct read_jvm read_jvm_open(pid_t pid)
{
    struct read_jvm j = { .mem_fd = open_proc_file(pid, "mem"), .libjvm = find_libjvm(pid) };
    struct error err = ERROR_NULL;

    if (j.mem_fd < 0 || hotspot_vm_open(j.mem_fd, NULL, j.libjvm, &j.vm, &err) != 0) {
        fprintf(stderr, "process %d cannot be read: %s\n", pid, err.msg);
        exit(2);
    }
    return j;
}

/* Closes @j. */
static inline void read_jvm_close(struct read_jvm *j)
{
    j->vm = hotspot_vm_close(j->vm);
    j->mem_fd = close_fd(j->mem_fd);
}

/* Counts the reads of memory of one JVM. */
struct read_counter {
    memory_read_fn read;
    void *cookie;
    uint64_t count;
};

/* Counts a read, and does it. */
static inline ssize_t read_counter_read(void *cookie, uint64_t address, void *buf, size_t n)
{
    struct read_counter *c = cookie;

    c->count++;
    return c->read(c->cookie, address, buf, n);
}

/* Counts the reads of @vm from now on in @c, which outlives it. */
static inline void read_counter_start(struct read_counter *c, struct hotspot_vm *vm)
{
    *c = (struct read_counter){ .read = vm->memory.read, .cookie = vm->memory.cookie };
    vm->memory.read = read_counter_read;
    vm->memory.cookie = c;
}
