/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/PID/maps: what is mapped where. The kernel writes the text, but its size, the order of
 * magnitude of its lines and every path in it are the target's choice.
 */
#include "base/array.h"
#include "proc/proc.h"

#define MAPS_DELETED " (deleted)"
#define MAPS_FIRST_ENTRIES 256

/* Takes a whole word of four permission letters. */
static bool take_perms(struct span *s, struct mapping *m)
{
    struct span w;

    if (!span_take_word(s, &w) || w.n != 4)
        return false;
    m->read = w.p[0] == 'r';
    m->write = w.p[1] == 'w';
    m->exec = w.p[2] == 'x';
    return true;
}

static bool take_device(struct span *s, struct mapping *m)
{
    uint64_t major, minor;

    span_skip_blanks(s);
    if (!span_take_hex(s, &major) || !span_take_char(s, ':') || !span_take_hex(s, &minor) ||
        major > UINT32_MAX || minor > UINT32_MAX)
        return false;
    m->dev_major = (uint32_t)major;
    m->dev_minor = (uint32_t)minor;
    return true;
}

int maps_parse_line(struct span line, struct mapping *ret)
{
    struct mapping m = { 0 };

    if (!span_take_hex(&line, &m.start) || !span_take_char(&line, '-') ||
        !span_take_hex(&line, &m.end) || !span_take_char(&line, ' ') || !take_perms(&line, &m))
        return -EBADMSG;
    span_skip_blanks(&line);
    if (!span_take_hex(&line, &m.offset) || !take_device(&line, &m))
        return -EBADMSG;
    span_skip_blanks(&line);
    if (!span_take_dec(&line, &m.inode) || m.end <= m.start)
        return -EBADMSG;
    if (line.n && line.p[0] != ' ')
        return -EBADMSG;
    span_skip_blanks(&line);
    m.path = line;
    if (span_ends_with(m.path, MAPS_DELETED)) {
        m.path.n -= sizeof(MAPS_DELETED) - 1;
        m.deleted = true;
    }
    *ret = m;
    return 0;
}

static int compare_start(const void *a, const void *b)
{
    const struct mapping *x = a, *y = b;

    return (x->start > y->start) - (x->start < y->start);
}

/* Makes room for one more entry. */
static int maps_grow(struct maps *m, size_t *cap)
{
    return array_grow(&m->entries, cap, m->count + 1, MAPS_FIRST_ENTRIES) ? 0 : -ENOMEM;
}

int maps_parse(struct buf *text, struct maps *ret)
{
    struct maps m = { .text = *text };
    struct span rest = buf_span(text), line;
    bool sorted = true;
    size_t cap = 0;

    *text = BUF_NULL;
    m.truncated = m.text.error || rest.n >= MAPS_MAX_BYTES;
    if (m.truncated) /* the last line may be half of one */
        rest.n = span_rfind(rest, '\n') < rest.n ? span_rfind(rest, '\n') : 0;
    while (span_take_line(&rest, &line)) {
        struct mapping entry;

        if (maps_parse_line(line, &entry) < 0)
            continue;
        if (m.count == MAPS_MAX_LINES) {
            m.truncated = true;
            break;
        }
        if (maps_grow(&m, &cap) < 0) {
            maps_deinit(&m);
            return -ENOMEM;
        }
        sorted = sorted && (m.count == 0 || m.entries[m.count - 1].start <= entry.start);
        m.entries[m.count++] = entry;
    }
    if (!sorted)
        qsort(m.entries, m.count, sizeof(*m.entries), compare_start);
    *ret = m;
    return 0;
}

int maps_read(int fd, struct maps *ret)
{
    struct buf text;
    int r;

    buf_init(&text, MAPS_MAX_BYTES);
    r = buf_read_fd(&text, fd);
    if (r < 0 && r != -EFBIG) {
        buf_deinit(&text);
        return r;
    }
    return maps_parse(&text, ret);
}

void maps_deinit(struct maps *m)
{
    buf_deinit(&m->text);
    free(m->entries);
    *m = (struct maps){ 0 };
}

const struct mapping *maps_find(const struct maps *m, uint64_t address)
{
    size_t low = 0, high = m->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct mapping *e = &m->entries[middle];

        if (address < e->start)
            high = middle;
        else if (address >= e->end)
            low = middle + 1;
        else
            return e;
    }
    return NULL;
}
