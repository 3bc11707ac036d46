/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include "base/cleanup.h"
#include "base/memory_guard.h"

#include <fcntl.h>

void buf_init(struct buf *b, size_t max_bytes)
{
    *b = (struct buf){ .max = max_bytes };
}

void buf_deinit(struct buf *b)
{
    free(b->p);
    b->p = NULL;
    b->n = b->cap = 0;
}

/* Makes room for @n more bytes and the NUL. */
static bool buf_reserve(struct buf *b, size_t n)
{
    size_t want, cap;
    char *p;

    if (b->error)
        return false;
    if (b->spill && b->n > b->spill_bytes) {
        b->error = b->spill(b->spill_cookie, buf_span(b));
        b->n = 0;
        if (b->error)
            return false;
    }
    if (n > b->max - b->n) {
        b->error = -EFBIG;
        return false;
    }
    want = b->n + n + 1;
    if (want <= b->cap)
        return true;
    cap = MAX(want, MIN(b->cap * 2, b->max + 1));
    cap = MAX(cap, (size_t)64);
    p = memory_guard_admits(cap - b->cap) ? realloc(b->p, cap) : NULL;
    if (!p) {
        b->error = -ENOMEM;
        return false;
    }
    b->p = p;
    b->cap = cap;
    return true;
}

void buf_add(struct buf *b, const void *p, size_t n)
{
    if (!buf_reserve(b, n))
        return;
    if (n)
        memcpy(b->p + b->n, p, n);
    b->n += n;
    b->p[b->n] = '\0';
}

void buf_add_span(struct buf *b, struct span s)
{
    buf_add(b, s.p, s.n);
}

void buf_add_str(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

void buf_add_char(struct buf *b, char c)
{
    buf_add(b, &c, 1);
}

void buf_add_u64(struct buf *b, uint64_t v)
{
    char digits[20];
    size_t at = sizeof(digits);

    do {
        digits[--at] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    buf_add(b, digits + at, sizeof(digits) - at);
}

void buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
    va_list again;
    size_t room; /* free bytes of the allocation, the NUL's included */
    int n;

    va_copy(again, ap);
    room = !b->error && b->p && !(b->spill && b->n > b->spill_bytes)
               ? MIN(b->cap, b->max + 1) - b->n
               : 0;
    n = vsnprintf(room ? b->p + b->n : NULL, room, fmt, ap);
    if (n >= 0 && (size_t)n < room) {
        b->n += (size_t)n;
    } else {
        if (room)
            b->p[b->n] = '\0';
        if (n >= 0 && buf_reserve(b, (size_t)n)) {
            vsnprintf(b->p + b->n, (size_t)n + 1, fmt, again);
            b->n += (size_t)n;
        }
    }
    va_end(again);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    buf_vprintf(b, fmt, ap);
    va_end(ap);
}

void buf_clear(struct buf *b)
{
    b->n = 0;
    b->error = 0;
    if (b->p)
        b->p[0] = '\0';
}

struct span buf_span(const struct buf *b)
{
    return (struct span){ b->p, b->n };
}

char *buf_take(struct buf *b, size_t *ret_n)
{
    char *p;

    if (!buf_reserve(b, 0))
        return NULL;
    b->p[b->n] = '\0';
    p = TAKE_PTR(b->p);
    if (ret_n)
        *ret_n = b->n;
    b->n = b->cap = 0;
    return p;
}

int buf_read_fd(struct buf *b, int fd)
{
    char chunk[16384];

    for (;;) {
        ssize_t n = read(fd, chunk, sizeof(chunk));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return 0;
        if ((size_t)n > b->max - b->n) {
            buf_add(b, chunk, b->max - b->n);
            return b->error ? b->error : -EFBIG;
        }
        buf_add(b, chunk, (size_t)n);
        if (b->error)
            return b->error;
    }
}

int buf_read_at(struct buf *b, int dirfd, const char *path)
{
    _cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    return fd < 0 ? -errno : buf_read_fd(b, fd);
}
