/* SPDX-License-Identifier: Apache-2.0 */
#include "quarantine/quarantine.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/list.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Parses "OWNER UNTIL PID START JVM": the owner in hexadecimal, JVM 0 or 1. */
static bool take_one(struct span line, struct quarantined *ret)
{
    struct quarantined one = { 0 };
    uint64_t pid, jvm;

    if (!span_take_hex(&line, &one.owner) || !span_take_char(&line, ' ') ||
        !span_take_dec(&line, &one.until_s) || !span_take_char(&line, ' ') ||
        !span_take_dec(&line, &pid) || pid > INT32_MAX || !span_take_char(&line, ' ') ||
        !span_take_dec(&line, &one.id.start_ticks) || !span_take_char(&line, ' ') ||
        !span_take_dec(&line, &jvm) || jvm > 1)
        return false;
    one.jvm = jvm;
    one.id.host_pid = (int32_t)pid;
    *ret = one;
    return true;
}

static bool take_key(struct span line, struct fingerprint_key *ret)
{
    struct fingerprint_key key;

    if (!span_take_str(&line, "key ") || !span_take_hex(&line, &key.k0) ||
        !span_take_char(&line, ' ') || !span_take_hex(&line, &key.k1))
        return false;
    *ret = key;
    return true;
}

/* Returns whether the note is in force. If the clock was set back, a note that would last longer
 * than QUARANTINE_SECONDS is void. */
static bool holds(const struct quarantined *one)
{
    uint64_t now_s = clock_realtime_ns() / NSEC_PER_SEC;

    return one->until_s > now_s && one->until_s <= now_s + QUARANTINE_SECONDS;
}

int quarantine_open(const char *path, int *ret_fd)
{
    const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    _cleanup_close_ int fd = open(path, flags, 0600);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
        return -EPERM;
    *ret_fd = take_fd(&fd);
    return 0;
}

void quarantine_load(int fd, int proc_fd, struct quarantine *ret)
{
    struct quarantined one;
    struct span rest, notes, line;
    char text[QUARANTINE_BYTES];
    ssize_t n = pread(fd, text, sizeof(text), 0);

    *ret = (struct quarantine){ .proc_fd = proc_fd };
    rest = (struct span){ text, n > 0 ? strnlen(text, (size_t)n) : 0 };
    notes = rest;
    if (span_take_line(&rest, &line) && take_key(line, &ret->key))
        notes = rest;
    else
        ret->key = fingerprint_key_new();
    while (ret->count < QUARANTINE_MAX && span_take_line(&notes, &line)) {
        if (take_one(line, &one) && holds(&one))
            ret->list[ret->count++] = one;
    }
}

static int save(int fd, const struct quarantine *l)
{
    char text[QUARANTINE_BYTES] = "";
    size_t n = (size_t)snprintf(text, sizeof(text), "key %jx %jx\n", (uintmax_t)l->key.k0,
                                (uintmax_t)l->key.k1);

    _Static_assert((QUARANTINE_MAX + 1) * 80 < sizeof(text), "all lines fit, at their longest");
    for (size_t i = 0; i < l->count; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%jx %ju %d %ju %d\n",
                              (uintmax_t)l->list[i].owner, (uintmax_t)l->list[i].until_s,
                              l->list[i].id.host_pid, (uintmax_t)l->list[i].id.start_ticks,
                              (int)l->list[i].jvm);
    errno = ENOSPC; /* after a short write */
    return pwrite(fd, text, sizeof(text), 0) == (ssize_t)sizeof(text) ? 0 : -errno;
}

int quarantine_keep_key(int fd, const struct fingerprint_key *key)
{
    struct quarantine l;

    quarantine_load(fd, /* proc_fd= */ -1, &l);
    l.key = *key;
    return save(fd, &l);
}

int quarantine_add(int fd, uint64_t owner, const struct proc_id *id, bool jvm)
{
    struct quarantine l;

    quarantine_load(fd, /* proc_fd= */ -1, &l);
    if (l.count == QUARANTINE_MAX)
        memmove(l.list, l.list + 1, --l.count * sizeof(l.list[0]));
    l.list[l.count++] = (struct quarantined){
        .owner = owner,
        .until_s = clock_realtime_ns() / NSEC_PER_SEC + QUARANTINE_SECONDS,
        .id = *id,
        .jvm = jvm,
    };
    return save(fd, &l);
}

const struct quarantined *quarantine_find(const struct quarantine *l, const struct proc_id *id)
{
    uint64_t owner = l->count ? proc_owner_now(l->proc_fd, id) : 0;

    return FIRST_OF(i, l->list, l->count, l->list[i].owner == owner && holds(&l->list[i]));
}

size_t quarantine_count(const struct quarantine *l)
{
    size_t n = 0;

    for (size_t i = 0; i < l->count; i++)
        n += holds(&l->list[i]);
    return n;
}
