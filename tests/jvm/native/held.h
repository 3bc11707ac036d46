/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process holds, as one that traces it finds in /proc: capabilities, descriptors,
 * namespaces, and whether its memory has something of others. Written to standard output as
 * " NAME=VALUE ...".
 */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int path_of(char *path, size_t n, pid_t pid, const char *name)
{
    return snprintf(path, n, "/proc/%d/%s", pid, name);
}

static void print_status(pid_t pid)
{
    char path[64], line[256], value[64];
    FILE *f;

    path_of(path, sizeof(path), pid, "status");
    f = fopen(path, "r");
    while (f && fgets(line, sizeof(line), f)) {
        if (strncmp(line, "Cap", 3) == 0 && strncmp(line, "CapBnd", 6) != 0 &&
            sscanf(line + 7, "%63s", value) == 1)
            printf(" %.6s=%s", line, value);
        if (sscanf(line, "Seccomp_filters: %63s", value) == 1)
            printf(" filters=%s", value);
    }
    if (f)
        fclose(f);
}

static void print_descriptors(pid_t pid)
{
    char path[64], name[320], target[256];
    struct dirent *e;
    DIR *d;

    path_of(path, sizeof(path), pid, "fd");
    d = opendir(path);
    if (!d)
        printf(" fds=%s", strerrorname_np(errno));
    while (d && (e = readdir(d))) {
        ssize_t n;

        if (e->d_name[0] == '.')
            continue;
        snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
        n = readlink(name, target, sizeof(target) - 1);
        target[n < 0 ? 0 : n] = 0;
        for (char *p = target; *p; p++)
            *p = *p == ' ' ? '_' : *p;
        printf(" fd%s=%s", e->d_name, target);
    }
    if (d)
        closedir(d);
}

static void print_same(pid_t pid, const char *name)
{
    struct stat ours = { 0 }, its = { 0 };
    char path[64];

    path_of(path, sizeof(path), pid, name);
    if (stat(path, &its) < 0) {
        printf(" %s=%s", name, strerrorname_np(errno));
        return;
    }
    path_of(path, sizeof(path), getpid(), name);
    stat(path, &ours);
    printf(" %s=%s", name,
           ours.st_ino == its.st_ino && ours.st_dev == its.st_dev ? "own" : "other");
}

/* Whether it has read somebody's /proc/PID/status, and still knows. */
static void print_memory(pid_t pid)
{
    static char part[1 << 16];
    static const char WANTED[] = "NSpid:";
    char path[64], line[512];
    int fd, found = 0;
    FILE *f;

    path_of(path, sizeof(path), pid, "mem");
    fd = open(path, O_RDONLY | O_CLOEXEC);
    path_of(path, sizeof(path), pid, "maps");
    f = fopen(path, "r");
    while (fd >= 0 && f && fgets(line, sizeof(line), f)) {
        uint64_t from, to;

        if (sscanf(line, "%lx-%lx", &from, &to) != 2 || strstr(line, "[v"))
            continue;
        while (from < to) {
            ssize_t n = pread(fd, part, sizeof(part), (off_t)from);

            if (n <= 0)
                break;
            found |= memmem(part, (size_t)n, WANTED, sizeof(WANTED) - 1) != NULL;
            from += (uint64_t)n;
        }
    }
    printf(" memory=%s", fd < 0 || !f ? "closed" : found ? "of-others" : "own");
    if (f)
        fclose(f);
    if (fd >= 0)
        close(fd);
}

static void print_all(pid_t pid)
{
    static const char *const NAMES[] = { "ns/user",   "ns/mnt", "ns/pid",  "ns/ipc",
                                         "ns/net",    "ns/uts", "ns/time", "ns/pid_for_children",
                                         "ns/cgroup", "root",   "cwd" };

    print_status(pid);
    print_descriptors(pid);
    print_memory(pid);
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
        print_same(pid, NAMES[i]);
}
