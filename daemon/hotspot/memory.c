/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of pages and the bounded reads on top of it. */
#include "hotspot/memory.h"

struct memory_line {
    uint64_t page;  /* address of its first byte */
    uint64_t epoch; /* 0: empty */
};

int memory_init(struct hotspot_memory *m, memory_read_fn read, void *cookie, size_t lines)
{
    *m = (struct hotspot_memory){ .read = read, .cookie = cookie, .epoch = 1 };
    return memory_resize(m, lines);
}

void memory_deinit(struct hotspot_memory *m)
{
    free(TAKE_PTR(m->lines));
    free(TAKE_PTR(m->bytes));
    m->line_count = 0;
}

void memory_begin(struct hotspot_memory *m)
{
    m->epoch++;
    m->moment_ns = 0;
}

void memory_continue(struct hotspot_memory *m)
{
    if (!m->in_moment || !m->moment_ns)
        memory_begin(m);
}

void memory_moment(struct hotspot_memory *m, uint64_t at_ns, uint64_t now_ns)
{
    m->in_moment = at_ns;
    if (!at_ns || (at_ns <= m->moment_ns && now_ns - m->moment_ns < MEMORY_MOMENT_NS))
        return;
    memory_begin(m);
    m->moment_ns = now_ns;
}

int memory_resize(struct hotspot_memory *m, size_t lines)
{
    struct memory_line *l = calloc(lines, sizeof(*l));
    uint8_t *bytes = malloc(lines * MEMORY_PAGE); /* not cleared: most pages are never touched */

    if (!l || !bytes) {
        free(l);
        free(bytes);
        return -ENOMEM;
    }
    free(m->lines);
    free(m->bytes);
    m->lines = l;
    m->bytes = bytes;
    m->line_count = lines;
    return 0;
}

static bool memory_is_user(uint64_t address, size_t n)
{
    return address >= MEMORY_PAGE && address < MEMORY_ADDRESS_MAX &&
           n <= MEMORY_ADDRESS_MAX - address;
}

int memory_read_direct(struct hotspot_memory *m, uint64_t address, void *buf, size_t n)
{
    uint8_t *p = buf;

    if (!memory_is_user(address, n))
        return -EFAULT;
    if (m->only_kept) {
        m->missed = true;
        return -EAGAIN;
    }
    while (n > 0) {
        ssize_t r = m->read(m->cookie, address, p, n);

        if (r < 0)
            return r == -EIO || r == -EFAULT ? -EFAULT : (int)r;
        if (r == 0)
            return -ESRCH;
        p += r;
        address += (uint64_t)r;
        n -= (size_t)r;
    }
    return 0;
}

/* Returns the line for @page: the one that caches it, else a free one, else the first of its
 * lines. */
static size_t memory_line(const struct hotspot_memory *m, uint64_t page)
{
    size_t first = page / MEMORY_PAGE, mask = m->line_count - 1, free_one = first & mask;
    bool found_free = false;

    for (size_t i = 0; i < MEMORY_WAYS; i++) {
        size_t at = (first + i) & mask;

        if (m->lines[at].epoch == m->epoch && m->lines[at].page == page)
            return at;
        if (!found_free && m->lines[at].epoch != m->epoch) {
            found_free = true;
            free_one = at;
        }
    }
    return free_one;
}

/* Gets the cached page at @page (aligned); reads it if it is missing. */
static int memory_page(struct hotspot_memory *m, uint64_t page, const uint8_t **ret)
{
    size_t at = memory_line(m, page);
    struct memory_line *l = &m->lines[at];
    uint8_t *bytes = m->bytes + at * MEMORY_PAGE;

    if (l->epoch != m->epoch || l->page != page) {
        int r;

        if (m->only_kept) { /* the line keeps its page */
            m->missed = true;
            return -EAGAIN;
        }
        l->epoch = 0;
        r = memory_read_direct(m, page, bytes, MEMORY_PAGE);
        if (r < 0)
            return r;
        l->page = page;
        l->epoch = m->epoch;
    }
    *ret = bytes;
    return 0;
}

int memory_read(struct hotspot_memory *m, uint64_t address, void *buf, size_t n)
{
    uint8_t *p = buf;

    if (!memory_is_user(address, n))
        return -EFAULT;
    if (n > MEMORY_PAGE * 4)
        return memory_read_direct(m, address, buf, n);
    while (n > 0) {
        size_t at = address & (MEMORY_PAGE - 1), part = MIN(n, MEMORY_PAGE - at);
        const uint8_t *bytes;
        int r = memory_page(m, address - at, &bytes);

        if (r < 0)
            return r;
        memcpy(p, bytes + at, part);
        p += part;
        address += part;
        n -= part;
    }
    return 0;
}

int memory_number(struct hotspot_memory *m, uint64_t address, unsigned width, uint64_t *ret)
{
    uint8_t bytes[8];
    uint64_t v = 0;
    int r;

    if (width == 0 || width > sizeof(bytes))
        return -EINVAL;
    r = memory_read(m, address, bytes, width);
    if (r < 0)
        return r;
    for (unsigned i = 0; i < width; i++)
        v |= (uint64_t)bytes[i] << (8 * i);
    *ret = v;
    return 0;
}

int memory_u64(struct hotspot_memory *m, uint64_t address, uint64_t *ret)
{
    return memory_number(m, address, 8, ret);
}

int memory_u32(struct hotspot_memory *m, uint64_t address, uint32_t *ret)
{
    uint64_t v;
    int r = memory_number(m, address, 4, &v);

    if (r == 0)
        *ret = (uint32_t)v;
    return r;
}

ssize_t memory_string(struct hotspot_memory *m, uint64_t address, char *buf, size_t size)
{
    size_t n = 0;

    while (n + 1 < size) {
        size_t part = MIN(size - 1 - n, MEMORY_PAGE - (address & (MEMORY_PAGE - 1)));
        const char *end;
        int r = memory_read(m, address, buf + n, part);

        if (r < 0)
            return r;
        end = memchr(buf + n, '\0', part);
        if (end)
            return end - buf;
        n += part;
        address += part;
    }
    buf[n] = '\0';
    return (ssize_t)n;
}
