/* SPDX-License-Identifier: Apache-2.0 */
/* The caches of pages and the bounded reads on top of them. */
#include "hotspot/memory.h"

#include "proc/stall_readers.h"

#include <stdatomic.h>
#include <sys/mman.h>

struct memory_line {
    uint64_t page;       /* address of its first byte; 0: empty */
    uint64_t generation; /* of the cache; a line of another generation is empty */
    size_t slot;         /* slot of the page's bytes */
};

/* The cache of a thread. It is mapped once, and most of it is never touched. */
struct memory_cache {
    uint8_t bytes[MEMORY_LINES * MEMORY_PAGE]; /* by slot */
    struct memory_line lines[MEMORY_LINES];    /* by page number */
    uint64_t epoch;                            /* epoch of the memory that it caches */
    uint64_t generation;                       /* rises when it begins to cache another memory */
    size_t slots_used;                         /* slots that lines got in this generation */
};

static _Thread_local struct memory_cache *own;
static atomic_uint_least64_t epochs;

static uint64_t next_epoch(void)
{
    return atomic_fetch_add(&epochs, 1) + 1;
}

void memory_init(struct hotspot_memory *m, memory_read_fn read, void *cookie)
{
    *m = (struct hotspot_memory){ .read = read, .cookie = cookie, .epoch = next_epoch() };
}

/* Returns the cache of this thread, or NULL if out of memory. */
static struct memory_cache *own_cache(void)
{
    void *p;

    if (own)
        return own;
    p = mmap(NULL, sizeof(*own), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    own = p;
    return own;
}

void memory_begin(struct hotspot_memory *m)
{
    m->epoch = next_epoch();
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

        if (r == -EIO || r == -EFAULT)
            return -EFAULT;
        if (r < 0) {
            m->refused++;
            return (int)r;
        }
        if (r == 0)
            return -ESRCH;
        p += r;
        address += (uint64_t)r;
        n -= (size_t)r;
    }
    return 0;
}

/* Returns the line of @c for @page: the line with that page, else a free one, else the first line
 * that may hold it. */
static struct memory_line *line_for(struct memory_cache *c, uint64_t page)
{
    size_t first = page / MEMORY_PAGE, mask = MEMORY_LINES - 1;
    struct memory_line *free_one = NULL;

    for (size_t i = 0; i < MEMORY_WAYS; i++) {
        struct memory_line *l = &c->lines[(first + i) & mask];
        bool is_free = l->generation != c->generation || !l->page;

        if (!is_free && l->page == page)
            return l;
        if (is_free && !free_one)
            free_one = l;
    }
    return free_one ? free_one : &c->lines[first & mask];
}

/* Gives the empty line @l its slot. Lines get slots in turn, so that calls that read few pages
 * touch little memory. */
static void begin_line(struct memory_cache *c, struct memory_line *l)
{
    if (l->generation != c->generation) {
        l->generation = c->generation;
        l->slot = c->slots_used++;
    }
    l->page = 0;
}

/* Makes the cache of this thread hold pages of @m. Returns 0 or -ENOMEM. */
static int take_cache(struct hotspot_memory *m)
{
    struct memory_cache *c = own_cache();

    if (!c)
        return -ENOMEM;
    m->cache = c;
    if (c->epoch == m->epoch)
        return 0;
    c->epoch = m->epoch;
    c->generation++;
    c->slots_used = 0;
    return 0;
}

/* Gets the cached page at @page (aligned); reads it if it is missing. */
static int memory_page(struct hotspot_memory *m, uint64_t page, const uint8_t **ret)
{
    int r = m->only_kept ? 0 : take_cache(m);
    struct memory_cache *c = m->cache;
    struct memory_line *l;

    if (r < 0)
        return r;
    l = c && c->epoch == m->epoch ? line_for(c, page) : NULL;
    if (!l || l->generation != c->generation || l->page != page) {
        if (m->only_kept) { /* the line keeps its current page */
            m->missed = true;
            return -EAGAIN;
        }
        begin_line(c, l);
        r = memory_read_direct(m, page, c->bytes + l->slot * MEMORY_PAGE, MEMORY_PAGE);
        if (r < 0)
            return r;
        l->page = page;
    }
    *ret = c->bytes + l->slot * MEMORY_PAGE;
    return 0;
}

int memory_read(struct hotspot_memory *m, uint64_t address, void *buf, size_t n)
{
    uint8_t *p = buf;

    if (!memory_is_user(address, n))
        return -EFAULT;
    if (readers_is_left()) /* what it computes from cached pages, nobody waits for */
        return -ETIMEDOUT;
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
