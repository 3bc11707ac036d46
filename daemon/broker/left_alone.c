/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/left_alone.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "broker/patience.h"

#include <fcntl.h>
#include <unistd.h>

#define FILE_NAME "left-alone"
#define FILE_NEW_NAME "left-alone.new"
#define FILE_MAX_BYTES 4096

/* "KEY UNTIL PID START JVM", the key in hexadecimal, JVM 0 or 1. */
static bool take_one(struct span line, struct left_alone_one *ret)
{
    struct left_alone_one one = { 0 };
    uint64_t pid, jvm;

    if (!span_take_hex(&line, &one.key) || !span_take_char(&line, ' ') ||
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

/* The clock may have been set: nothing holds for longer than it is noted for. */
static bool holds(const struct left_alone_one *one)
{
    uint64_t now_s = clock_realtime_ns() / NSEC_PER_SEC;

    return one->until_s > now_s && one->until_s <= now_s + LEFT_ALONE_SECONDS;
}

void left_alone_load(int dir_fd, int proc_fd, struct left_alone *ret)
{
    _cleanup_buf_ struct buf text = BUF_NULL;
    struct left_alone_one one;
    struct span rest, line;

    *ret = (struct left_alone){ .proc_fd = proc_fd };
    buf_init(&text, FILE_MAX_BYTES);
    if (buf_read_at(&text, dir_fd, FILE_NAME) < 0)
        return;
    rest = buf_span(&text);
    while (ret->count < LEFT_ALONE_MAX && span_take_line(&rest, &line)) {
        if (take_one(line, &one) && holds(&one))
            ret->list[ret->count++] = one;
    }
}

static int save(int dir_fd, const struct left_alone *l)
{
    _cleanup_close_ int fd =
        openat(dir_fd, FILE_NEW_NAME, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0640);
    _cleanup_buf_ struct buf text = BUF_NULL;

    if (fd < 0)
        return -errno;
    buf_init(&text, FILE_MAX_BYTES);
    for (size_t i = 0; i < l->count; i++)
        buf_printf(&text, "%jx %ju %d %ju %d\n", (uintmax_t)l->list[i].key,
                   (uintmax_t)l->list[i].until_s, l->list[i].id.host_pid,
                   (uintmax_t)l->list[i].id.start_ticks, (int)l->list[i].jvm);
    if (text.error)
        return text.error;
    errno = ENOSPC; /* of a short one */
    if (write(fd, text.p, text.n) != (ssize_t)text.n)
        return -errno;
    return renameat(dir_fd, FILE_NEW_NAME, dir_fd, FILE_NAME) < 0 ? -errno : 0;
}

int left_alone_add(int dir_fd, int proc_fd, const struct proc_id *id, bool jvm)
{
    uint64_t key = patience_key(proc_fd, id);
    struct proc_stat stat;
    struct left_alone l;

    if (proc_read_stat(proc_fd, id->host_pid, &stat) == 0 && stat.start_ticks != id->start_ticks)
        return -ESRCH; /* it is gone, and that was the container of another */
    left_alone_load(dir_fd, proc_fd, &l);
    if (l.count == LEFT_ALONE_MAX)
        memmove(l.list, l.list + 1, --l.count * sizeof(l.list[0]));
    l.list[l.count++] = (struct left_alone_one){
        .key = key,
        .until_s = clock_realtime_ns() / NSEC_PER_SEC + LEFT_ALONE_SECONDS,
        .id = *id,
        .jvm = jvm,
    };
    return save(dir_fd, &l);
}

const struct left_alone_one *left_alone_find(const struct left_alone *l, const struct proc_id *id)
{
    uint64_t key = l->count ? patience_key(l->proc_fd, id) : 0;

    for (size_t i = 0; i < l->count; i++) {
        if (l->list[i].key == key && (l->lasting || holds(&l->list[i])))
            return &l->list[i];
    }
    return NULL;
}

size_t left_alone_count(const struct left_alone *l)
{
    size_t n = 0;

    for (size_t i = 0; i < l->count; i++)
        n += l->lasting || holds(&l->list[i]);
    return n;
}
