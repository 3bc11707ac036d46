/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses /proc/PID/maps. The kernel writes the text, but the target chooses the number of its lines
 * and every path in it.
 */
#include "base/array.h"
#include "proc/proc.h"

#define MAPS_DELETED " (deleted)"

/* Takes a word of exactly four permission letters. */
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

void maps_deinit(struct maps *m)
{
    buf_deinit(&m->text);
    free(m->entries);
    *m = (struct maps){ 0 };
}

const struct mapping *maps_find(const struct maps *m, uint64_t address)
{
    size_t at = array_first(m->count, middle, m->entries[middle].end <= address);

    return at < m->count && m->entries[at].start <= address ? &m->entries[at] : NULL;
}
