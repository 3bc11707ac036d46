/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/mountinfo. */
#include "base/cleanup.h"
#include "proc/proc.h"

#include <fcntl.h>
#include <unistd.h>

#define CHUNK_BYTES 16384

static bool has_flag(struct span options, const char *name)
{
    struct span one;

    while (span_take_until(&options, ',', &one)) {
        if (span_eq_str(one, name))
            return true;
    }
    return false;
}

bool mountinfo_has(const struct mountinfo *m, const char *option)
{
    return has_flag(m->options, option);
}

static bool parse_line(struct span line, struct mountinfo *ret)
{
    struct mountinfo m = { 0 };
    struct span word, options;

    if (!span_take_dec(&line, &m.id) || !span_take_char(&line, ' ') ||
        !span_take_dec(&line, &m.parent) || !span_take_char(&line, ' ') ||
        !span_take_word(&line, &word) || !span_take_word(&line, &m.root) ||
        !span_take_word(&line, &m.point) || !span_take_word(&line, &options))
        return false;
    m.read_only = has_flag(options, "ro");
    m.noexec = has_flag(options, "noexec");
    for (;;) { /* optional fields end at a hyphen */
        if (!span_take_word(&line, &word))
            return false;
        if (span_eq_str(word, "-"))
            break;
        m.shared |= span_starts_with(word, "shared:");
    }
    if (!span_take_word(&line, &m.type) || !span_take_word(&line, &m.source))
        return false;
    if (span_take_word(&line, &m.options))
        m.read_only |= mountinfo_has(&m, "ro");
    *ret = m;
    return true;
}

bool mountinfo_take(struct span *text, struct mountinfo *ret)
{
    struct span line;

    while (span_take_line(text, &line)) {
        if (parse_line(line, ret))
            return true;
    }
    return false;
}

/* Calls @fn with the mounts of @lines, as mountinfo_find() does. */
static bool any_mount(struct span lines, mountinfo_fn fn, void *cookie)
{
    struct mountinfo m;

    while (mountinfo_take(&lines, &m)) {
        if (fn(&m, cookie))
            return true;
    }
    return false;
}

int mountinfo_find(int dirfd, const char *path, mountinfo_fn fn, void *cookie)
{
    _cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
    _cleanup_buf_ struct buf text = BUF_UPTO(MOUNTINFO_MAX_BYTES);
    char chunk[CHUNK_BYTES];
    size_t seen = 0; /* bytes of the lines that @fn got */
    ssize_t n;

    if (fd < 0)
        return -errno;
    while ((n = read(fd, chunk, sizeof(chunk))) > 0) {
        struct span lines;
        size_t end;

        buf_add(&text, chunk, (size_t)n);
        if (text.error)
            return text.error;
        lines = span_from(buf_span(&text), seen);
        end = span_rfind(lines, '\n');
        if (end == lines.n)
            continue;
        lines.n = end + 1;
        seen += lines.n;
        if (any_mount(lines, fn, cookie))
            return 1;
    }
    return n < 0 ? -errno : 0;
}
