/* SPDX-License-Identifier: Apache-2.0 */
#include "signal/read.h"

#include "base/cleanup.h"
#include "base/fnv1a.h"

#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES 4096 /* bytes read from the start of a file, which has all needed numbers */
#define MILLI 1000.0

bool read_field(struct span text, const char *key, double *ret)
{
    struct span line, word;
    uint64_t v;

    while (span_take_line(&text, &line)) {
        if (!span_take_word(&line, &word) || !span_eq_str(word, key))
            continue;
        span_skip_blanks(&line);
        if (!span_take_dec(&line, &v))
            return false;
        *ret = (double)v;
        return true;
    }
    return false;
}

bool read_pressure(struct span text, double *ret)
{
    struct span line, word;
    uint64_t us;

    while (span_take_line(&text, &line)) {
        if (!span_take_word(&line, &word) || !span_eq_str(word, "some"))
            continue;
        while (span_take_word(&line, &word)) {
            if (span_take_str(&word, "total=") && span_take_dec(&word, &us)) {
                *ret = (double)us * (double)NSEC_PER_USEC;
                return true;
            }
        }
    }
    return false;
}

/* Reads the start of the file @fd again. Returns an empty text, and sets errno, if it cannot be
 * read; errno 0: the file is empty. */
static struct span read_again(int fd, char text[FILE_BYTES])
{
    ssize_t n;

    errno = 0;
    n = fd < 0 ? -1 : pread(fd, text, FILE_BYTES, 0);

    return (struct span){ text, n > 0 ? (size_t)n : 0 };
}

static uint64_t inode_of(int fd)
{
    struct stat st;

    return fstat(fd, &st) < 0 ? 0 : st.st_ino;
}

/* Version 2 of cgroups counts microseconds, version 1 ns. */
static void take_cpu(struct span text, struct number_reading *r)
{
    double us;

    read_field(text, "nr_periods", &r->v[NUMBER_PERIODS]);
    read_field(text, "nr_throttled", &r->v[NUMBER_PERIODS_THROTTLED]);
    if (read_field(text, "throttled_usec", &us))
        r->v[NUMBER_THROTTLED_NS] = us * (double)NSEC_PER_USEC;
    else
        read_field(text, "throttled_time", &r->v[NUMBER_THROTTLED_NS]);
}

/* In version 2, the file has only this number. */
static void take_swap(struct span text, struct number_reading *r)
{
    uint64_t bytes;

    if (!read_field(text, "total_swap", &r->v[NUMBER_SWAP_USED_BYTES]) &&
        span_take_dec(&text, &bytes))
        r->v[NUMBER_SWAP_USED_BYTES] = (double)bytes;
}

bool read_cgroup(const struct broker_cgroup_files *f, struct number_reading *r)
{
    bool whole = true;

    r->cgroup = FNV1A_START;
    if (f->cpu_limit)
        r->v[NUMBER_CPU_LIMIT] = (double)f->cpu_limit / MILLI;
    if (f->memory_limit)
        r->v[NUMBER_MEMORY_LIMIT_BYTES] = (double)f->memory_limit;
    if (f->cpu_limit || f->memory_limit) /* these files were read */
        r->v[NUMBER_SWAP_LIMIT_BYTES] =
            f->swap_limit == UINT64_MAX ? (double)NAN : (double)f->swap_limit;
    for (size_t i = 0; i < BROKER_CGROUP_FILES; i++) {
        char bytes[FILE_BYTES];
        struct span text = read_again(f->fds[i], bytes);

        if (f->fds[i] < 0)
            continue;
        if (text.n > 0)
            r->cgroup = fnv1a(r->cgroup, &(uint64_t){ inode_of(f->fds[i]) }, sizeof(uint64_t));
        /* PSI that is off, before Linux 6.1 */
        whole &= text.n > 0 || (i == BROKER_CGROUP_MEMORY_PRESSURE && errno == EOPNOTSUPP);
        if (i == BROKER_CGROUP_CPU)
            take_cpu(text, r);
        else if (i == BROKER_CGROUP_SWAP)
            take_swap(text, r);
        else if (i == BROKER_CGROUP_KILLS)
            read_field(text, "oom_kill", &r->v[NUMBER_OOM_KILLS]);
        else
            read_pressure(text, &r->v[NUMBER_MEMORY_PRESSURE_NS]);
    }
    return whole;
}

void cgroup_files_close(struct broker_cgroup_files *f)
{
    for (size_t i = 0; i < BROKER_CGROUP_FILES; i++)
        f->fds[i] = close_fd(f->fds[i]);
    f->cpu_limit = f->memory_limit = 0;
}
