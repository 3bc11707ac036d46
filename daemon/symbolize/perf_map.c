/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/perf_map.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memfd_copy.h"

#include <sys/stat.h>

#define PERF_MAP_INTERVAL_NS NSEC_PER_SEC
#define PERF_MAP_MISSED_NS (10 * NSEC_PER_MSEC)
#define PERF_MAP_REST 20 /* after a reading of t ns at least 20 t pass before the next */

struct perf_map {
    struct work work;              /* first */
    int fd;                        /* -1: closed, because it is a copy, which has been read */
    bool copy;                     /* the file is a copy in memory; the original may grow */
    size_t max_bytes;              /* of the file */
    bool cut;                      /* lines were left out for lack of room */
    uint64_t offset;               /* bytes read and parsed */
    uint64_t next_ns, missed_ns;   /* time of the next reading; the same if code is missing */
    struct symbol_builder entries; /* the worker's while @reading, like the fields around it */
    struct symbol_table symbols;
    uint64_t size;                /* size of the file at the begin of the reading */
    bool longer;                  /* the file was larger than max_bytes */
    bool changed;                 /* the last reading changed the symbols */
    bool reading;                 /* used by the engine, like the members below */
    bool put_off;                 /* the worker had no place for a reading */
    bool closed;                  /* freed at the end of the reading */
    bool forget;                  /* the strings of the table are invalid */
    uint64_t asked_ns, began_ns;  /* begin of the reading, by the caller's and the real clock */
    struct memory_budget *memory; /* borrowed */
    uint64_t counted, copied;     /* bytes charged in all; bytes charged for an open copy */
};

static bool take_hex(struct span *s, uint64_t *ret)
{
    struct span t = *s;

    if (!span_take_str(&t, "0x"))
        span_take_str(&t, "0X");
    if (!span_take_hex(&t, ret))
        return false;
    *s = t;
    return true;
}

/* Copies @name to @text, cut to PERF_MAP_NAME_MAX bytes. A cut name ends in "...". */
static struct span cut_name(struct span name, char text[PERF_MAP_NAME_MAX])
{
    size_t n = PERF_MAP_NAME_MAX - strlen("...");

    if (name.n <= PERF_MAP_NAME_MAX)
        return name;
    while (n && ((unsigned char)name.p[n] & 0xc0) == 0x80)
        n--; /* cut after a whole character */
    memcpy(text, name.p, n);
    memcpy(text + n, "...", strlen("..."));
    return (struct span){ text, n + strlen("...") };
}

static int perf_map_line(struct span line, struct symbol_builder *b)
{
    char text[PERF_MAP_NAME_MAX];
    struct symbol_entry e = { .limit = UINT64_MAX, .class = SYMBOL_ORDERED };

    span_skip_blanks(&line);
    if (!take_hex(&line, &e.start) || !span_take_char(&line, ' '))
        return 0;
    span_skip_blanks(&line);
    if (!take_hex(&line, &e.size) || !span_take_char(&line, ' '))
        return 0;
    line = span_trim(line);
    line = cut_name(line, text);
    if (!e.size || e.size > PERF_MAP_CODE_MAX || e.start > UINT64_MAX - e.size || !line.n)
        return 0;
    return symbol_builder_add(b, &e, line);
}

ssize_t perf_map_parse(struct span text, struct symbol_builder *b)
{
    const char *start = text.p;
    struct span line;

    while (span_find(text, '\n') < text.n && span_take_line(&text, &line)) {
        int r = line.n <= PERF_MAP_LINE_MAX ? perf_map_line(line, b) : 0;

        if (r < 0)
            return r;
    }
    return text.p - start;
}

/* Parses from m->offset to @size. Returns true if a line was complete. */
static bool perf_map_read(struct perf_map *m, uint64_t size)
{
    size_t have = 0, cap = (size_t)256 << 10;
    _cleanup_free_ char *bytes = malloc(cap);
    bool news = false;

    while (bytes && m->offset + have < size) {
        ssize_t used, n = pread(m->fd, bytes + have, MIN(cap - have, size - m->offset - have),
                                (off_t)(m->offset + have));

        if (n <= 0)
            break;
        have += (size_t)n;
        used = perf_map_parse((struct span){ bytes, have }, &m->entries);
        if (used == -EDQUOT) { /* the lines after it are not read */
            m->cut = news = true;
            m->offset = size;
            break;
        }
        if (used < 0)
            break;
        if (!used && have == cap)
            used = (ssize_t)have; /* a line of 256 KiB is skipped piece by piece; its last piece is
                                   * no entry */
        m->offset += (uint64_t)used;
        have -= (size_t)used;
        memmove(bytes, bytes + used, have);
        news |= used > 0;
    }
    return news;
}

/* ---- a reading ---- */

/* Reads up to m->size, on the worker's thread if there is one. */
static void run(struct work *work)
{
    struct perf_map *m = (struct perf_map *)work;
    struct symbol_table symbols;
    size_t limit;

    if (m->size < m->offset) { /* the file was written again from its start */
        m->offset = 0;
        symbol_table_deinit(&m->symbols); /* the new table will have these names */
        limit = m->entries.max_bytes;
        symbol_builder_deinit(&m->entries);
        symbol_builder_init(&m->entries, PERF_MAP_ENTRIES_MAX, m->max_bytes);
        m->entries.max_bytes = limit;
        m->cut = false;
        m->changed = true;
    }
    if (perf_map_read(m, m->size) && symbol_table_build_so_far(&m->entries, &symbols) == 0) {
        symbol_table_deinit(&m->symbols);
        m->symbols = symbols;
        m->changed = true;
    }
}

/* ---- memory ---- */

static void close_file(struct perf_map *m)
{
    m->fd = close_fd(m->fd);
    shares_give(&m->memory->copies, m->work.owner, m->copied);
    m->copied = 0;
}

static void count(struct perf_map *m, uint64_t bytes)
{
    shares_give(&m->memory->perf_maps, m->work.owner, m->counted);
    shares_force(&m->memory->perf_maps, m->work.owner, bytes);
    m->counted = bytes;
}

/* Charges the present memory of the map, and limits its growth to the remaining room. */
static void settle(struct perf_map *m)
{
    count(m, sizeof(*m) + symbol_builder_bytes(&m->entries) + symbol_table_bytes(&m->symbols));
    /* The table needs no more memory than the entries. */
    m->entries.max_bytes =
        m->counted / 2 + shares_room_lasting(&m->memory->perf_maps, m->work.owner) / 2 + 1;
}

int perf_map_open(int fd, uint64_t owner, size_t max_bytes, struct memory_budget *memory,
                  struct perf_map **ret)
{
    uint64_t copied = sealed_bytes(fd);
    bool room = copied <= shares_room(&memory->copies, owner);
    struct perf_map *m = room ? calloc(1, sizeof(*m)) : NULL;

    if (!m) {
        close_fd(fd);
        return room ? -ENOMEM : -EBUSY;
    }
    m->work.run = run;
    m->work.owner = owner;
    m->fd = fd;
    m->copy = copied;
    m->copied = copied;
    m->memory = memory;
    shares_force(&memory->copies, owner, copied);
    m->max_bytes = max_bytes;
    symbol_builder_init(&m->entries, PERF_MAP_ENTRIES_MAX, max_bytes);
    *ret = m;
    return 0;
}

struct perf_map *perf_map_close(struct perf_map *m)
{
    if (!m)
        return NULL;
    m->closed = true;
    if (m->reading)
        return NULL;
    close_file(m);
    count(m, 0);
    symbol_table_deinit(&m->symbols); /* the names of the table belong to the entries */
    symbol_builder_deinit(&m->entries);
    free(m);
    return NULL;
}

void perf_map_end(struct work *work)
{
    struct perf_map *m = (struct perf_map *)work;
    uint64_t rest_ns = m->work.cpu_ns * PERF_MAP_REST;
    uint64_t now_ns = m->asked_ns + (m->began_ns ? clock_monotonic_ns() - m->began_ns : 0);

    m->reading = false;
    if (m->closed) {
        perf_map_close(m);
        return;
    }
    if (m->forget)
        symbol_table_forget_strings(&m->symbols);
    m->forget = false;
    if (m->copy)
        close_file(m);
    settle(m);
    m->next_ns = now_ns + MAX(PERF_MAP_INTERVAL_NS, rest_ns);
    m->missed_ns = now_ns + MAX(PERF_MAP_MISSED_NS, rest_ns);
}

/* Begins to read new lines, if there are any. Without a worker, reads them here. */
static void begin(struct perf_map *m, struct worker *w, uint64_t now_ns)
{
    uint64_t before_ns, to_read, limit;
    struct stat st;

    m->next_ns = now_ns + PERF_MAP_INTERVAL_NS;
    m->missed_ns = now_ns + PERF_MAP_MISSED_NS;
    m->put_off = false;
    if (m->fd < 0 || fstat(m->fd, &st) < 0)
        return;
    m->size = MIN((uint64_t)MAX(st.st_size, 0), (uint64_t)m->max_bytes);
    m->longer = (uint64_t)MAX(st.st_size, 0) > m->size;
    if (m->size == m->offset)
        return;
    to_read = m->size - (m->size < m->offset ? 0 : m->offset);
    settle(m);
    limit = 2 * m->entries.max_bytes;
    /* An entry takes about as much memory as its line has bytes. */
    count(m, m->counted + MIN(to_read, limit - MIN(limit, m->counted)));
    m->asked_ns = now_ns;
    m->began_ns = w ? clock_monotonic_ns() : 0;
    m->reading = true;
    if (w) {
        m->reading = worker_put(w, &m->work);
        m->put_off = !m->reading; /* its owner has many readings; the next try comes soon */
        if (m->put_off)
            settle(m);
        m->next_ns = m->missed_ns;
        return;
    }
    before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    run(&m->work);
    m->work.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
    perf_map_end(&m->work);
}

/* Returns true if the symbols have changed since the last call. */
static bool take_news(struct perf_map *m)
{
    bool news = !m->reading && m->changed;

    m->changed &= !news;
    return news;
}

bool perf_map_refresh(struct perf_map *m, struct worker *w, uint64_t now_ns)
{
    if (!m->reading)
        settle(m);
    if (!m->reading && now_ns >= m->next_ns)
        begin(m, w, now_ns);
    return take_news(m);
}

bool perf_map_refresh_missed(struct perf_map *m, struct worker *w, uint64_t now_ns)
{
    if (!m->reading && now_ns >= m->missed_ns)
        begin(m, w, now_ns);
    return take_news(m);
}

bool perf_map_comes(const struct perf_map *m)
{
    return m->reading || m->put_off;
}

bool perf_map_is_cut(const struct perf_map *m)
{
    return !m->reading && m->cut;
}

bool perf_map_is_long(const struct perf_map *m)
{
    return !m->reading && (m->longer || m->entries.dropped);
}

bool perf_map_is_copy(const struct perf_map *m)
{
    return m->copy;
}

void perf_map_forget_strings(struct perf_map *m)
{
    m->forget = m->reading;
    if (!m->reading)
        symbol_table_forget_strings(&m->symbols);
}

const struct symbol *perf_map_find(const struct perf_map *m, uint64_t address)
{
    return m->reading ? NULL : symbol_table_find(&m->symbols, address);
}

struct symbol_table *perf_map_symbols(struct perf_map *m)
{
    return &m->symbols;
}
