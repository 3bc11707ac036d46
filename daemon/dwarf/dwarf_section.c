/* SPDX-License-Identifier: Apache-2.0 */
#include "dwarf/dwarf_section.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <elf.h>
#include <unistd.h>

#ifndef ELFCOMPRESS_ZSTD /* glibc 2.37 */
#define ELFCOMPRESS_ZSTD 2
#endif

#define PACKED_BUFFER_BYTES ((size_t)64 << 10)

struct dwarf_chunk {
    struct dwarf_chunk *newer, *older;
    struct dwarf_section *section;
    size_t index;
    size_t n;
    char bytes[DWARF_CHUNK_BYTES];
};

/* A point where unpacking can start. */
struct dwarf_restart {
    struct dwarf_unpacker *stream; /* owned */
    uint64_t at;                   /* offset in the packed bytes */
};

/* ---- budget ---- */

void dwarf_budget_begin(struct dwarf_budget *b, uint64_t cpu_ns)
{
    *b = (struct dwarf_budget){ .until_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns };
}

bool dwarf_budget_take(struct dwarf_budget *b, uint32_t steps)
{
    b->steps += steps;
    if (b->steps >= DWARF_BUDGET_STEPS) {
        b->steps = 0;
        b->spent |= clock_ns(CLOCK_THREAD_CPUTIME_ID) >= b->until_ns;
    }
    return !b->spent;
}

/* ---- chunks ---- */

static void chunk_unlink(struct dwarf_chunks *c, struct dwarf_chunk *k)
{
    *(k->newer ? &k->newer->older : &c->newest) = k->older;
    *(k->older ? &k->older->newer : &c->oldest) = k->newer;
    c->count--;
}

static void chunk_link(struct dwarf_chunks *c, struct dwarf_chunk *k)
{
    k->newer = NULL;
    k->older = c->newest;
    *(c->newest ? &c->newest->newer : &c->oldest) = k;
    c->newest = k;
    c->count++;
}

/* Returns a chunk to be filled. It replaces the least recently used one if there are too many.
 * NULL: no memory. */
static struct dwarf_chunk *chunk_new(struct dwarf_section *s, size_t index)
{
    struct dwarf_chunks *c = s->chunks;
    struct dwarf_chunk *k = c->oldest;

    if (c->count < DWARF_CHUNKS_MAX || !k) {
        k = malloc(sizeof(*k));
        if (!k)
            return NULL;
    } else {
        k->section->chunk[k->index] = NULL;
        chunk_unlink(c, k);
    }
    k->section = s;
    k->index = index;
    k->n = (size_t)MIN(s->bytes - index * DWARF_CHUNK_BYTES, (uint64_t)DWARF_CHUNK_BYTES);
    chunk_link(c, k);
    s->chunk[index] = k;
    return k;
}

static void chunk_drop(struct dwarf_chunk *k)
{
    k->section->chunk[k->index] = NULL;
    chunk_unlink(k->section->chunks, k);
    free(k);
}

void dwarf_chunks_clear(struct dwarf_chunks *c)
{
    while (c->newest)
        chunk_drop(c->newest);
}

/* ---- unpacking ---- */

static void live_end(struct dwarf_live *l)
{
    dwarf_unpacker_free(l->stream);
    *l = (struct dwarf_live){ 0 };
}

static void restart_free(struct dwarf_restart *r)
{
    if (r)
        dwarf_unpacker_free(r->stream);
    free(r);
}

/* Keeps a copy of s->live for restarts at chunk @index. */
static void restart_keep(struct dwarf_section *s, size_t index)
{
    struct dwarf_restart **to = &s->restart[index / DWARF_RESTART_CHUNKS];
    struct dwarf_restart *r;

    if (index % DWARF_RESTART_CHUNKS || *to)
        return;
    r = calloc(1, sizeof(*r));
    if (!r || !(r->stream = dwarf_unpacker_copy(s->live.stream))) {
        free(r); /* without it, a restart begins at an earlier point */
        return;
    }
    r->at = s->live.at - s->live.in.n;
    *to = r;
}

/* Sets s->live to a point at or before chunk @index. */
static bool live_seek(struct dwarf_section *s, size_t index)
{
    struct dwarf_live *l = &s->live;
    size_t i = index / DWARF_RESTART_CHUNKS;

    while (i > 0 && !s->restart[i])
        i--;
    if (l->stream && l->next <= index && l->next >= i * DWARF_RESTART_CHUNKS)
        return true;
    live_end(l);
    if (s->restart[i]) {
        l->next = i * DWARF_RESTART_CHUNKS;
        l->at = s->restart[i]->at;
        l->stream = dwarf_unpacker_copy(s->restart[i]->stream);
    } else {
        l->stream = dwarf_unpacker_new(s->packing);
    }
    return l->stream;
}

/* Fills @k with the next unpacked bytes. */
static bool unpack_chunk(struct dwarf_section *s, char *buffer, struct dwarf_chunk *k)
{
    struct dwarf_live *l = &s->live;
    char *to = k->bytes;
    size_t left = k->n;

    while (left) {
        if (!l->in.n) {
            size_t want = (size_t)MIN(s->file_bytes - l->at, (uint64_t)PACKED_BUFFER_BYTES);
            ssize_t n = pread(s->fd, buffer, want, (off_t)(s->file_offset + l->at));

            if (n <= 0 || !dwarf_budget_take(&s->chunks->budget, DWARF_BUDGET_STEPS))
                return false;
            l->at += (uint64_t)n;
            l->in = (struct span){ buffer, (size_t)n };
        }
        if (!dwarf_unpacker_run(l->stream, &l->in, &to, &left))
            return false;
    }
    return true;
}

/* Unpacks chunks up to @index. */
static struct dwarf_chunk *unpack(struct dwarf_section *s, size_t index)
{
    _cleanup_free_ char *buffer = malloc(PACKED_BUFFER_BYTES);
    struct dwarf_live *l = &s->live;
    struct dwarf_chunk *k = NULL;

    if (!buffer || !live_seek(s, index))
        return NULL;
    for (bool ok = true; l->next <= index && ok; l->next++) {
        restart_keep(s, l->next);
        if (s->chunk[l->next])
            chunk_drop(s->chunk[l->next]);
        k = chunk_new(s, l->next);
        ok = k && unpack_chunk(s, buffer, k) &&
             dwarf_budget_take(&s->chunks->budget, DWARF_BUDGET_STEPS);
        if (!ok && k) {
            chunk_drop(k);
            k = NULL;
        }
    }
    if (k) {
        l->at -= l->in.n; /* the buffer is freed, so these bytes have to be read again */
        l->in = SPAN_NULL;
    } else {
        live_end(l);
    }
    return k;
}

static struct dwarf_chunk *read_chunk(struct dwarf_section *s, size_t index)
{
    struct dwarf_chunk *k = s->packing ? NULL : chunk_new(s, index);
    uint64_t at = s->file_offset + (uint64_t)index * DWARF_CHUNK_BYTES;
    size_t got = 0;

    if (s->packing)
        return unpack(s, index);
    while (k && got < k->n) {
        ssize_t n = pread(s->fd, k->bytes + got, k->n - got, (off_t)(at + got));

        if (n <= 0 || !dwarf_budget_take(&s->chunks->budget, DWARF_BUDGET_STEPS)) {
            chunk_drop(k);
            return NULL;
        }
        got += (size_t)n;
    }
    return k;
}

/* ---- sections ---- */

static bool read_packing(struct dwarf_section *s)
{
    Elf64_Chdr h;

    if (s->file_bytes < sizeof(h) ||
        pread(s->fd, &h, sizeof(h), (off_t)s->file_offset) != (ssize_t)sizeof(h) ||
        (h.ch_type != ELFCOMPRESS_ZLIB && h.ch_type != ELFCOMPRESS_ZSTD))
        return false;
    s->file_offset += sizeof(h);
    s->file_bytes -= sizeof(h);
    s->bytes = h.ch_size;
    s->packing = h.ch_type == ELFCOMPRESS_ZLIB ? DWARF_ZLIB : DWARF_ZSTD;
    return true;
}

bool dwarf_section_init(struct dwarf_section *s, struct dwarf_chunks *chunks, int fd,
                        uint64_t offset, uint64_t bytes, bool compressed)
{
    *s = (struct dwarf_section){
        .fd = fd, .chunks = chunks, .file_offset = offset, .file_bytes = bytes, .bytes = bytes
    };
    if (offset > INT64_MAX / 2 || bytes > INT64_MAX / 2 || (compressed && !read_packing(s)) ||
        s->bytes > DWARF_SECTION_MAX_BYTES || !s->bytes) {
        s->bytes = 0;
        return false;
    }
    s->chunk_count = (size_t)((s->bytes + DWARF_CHUNK_BYTES - 1) / DWARF_CHUNK_BYTES);
    s->chunk = calloc(s->chunk_count, sizeof(struct dwarf_chunk *));
    s->restart = calloc(s->chunk_count / DWARF_RESTART_CHUNKS + 1, sizeof(struct dwarf_restart *));
    if (s->chunk && s->restart)
        return true;
    dwarf_section_deinit(s);
    return false;
}

void dwarf_section_deinit(struct dwarf_section *s)
{
    for (size_t i = 0; s->chunk && i < s->chunk_count; i++) {
        if (s->chunk[i])
            chunk_drop(s->chunk[i]);
    }
    for (size_t i = 0; s->restart && i <= s->chunk_count / DWARF_RESTART_CHUNKS; i++)
        restart_free(s->restart[i]);
    live_end(&s->live);
    free(s->chunk);
    free(s->restart);
    *s = (struct dwarf_section){ 0 };
}

static struct dwarf_chunk *find_chunk(struct dwarf_section *s, size_t index)
{
    struct dwarf_chunk *k = s->chunk[index];

    if (!k)
        return read_chunk(s, index);
    if (k != s->chunks->newest) {
        chunk_unlink(s->chunks, k);
        chunk_link(s->chunks, k);
    }
    return k;
}

size_t dwarf_section_some(struct dwarf_section *s, uint64_t offset, void *to, size_t max)
{
    size_t got = 0;

    while (got < max && offset + got < s->bytes) {
        uint64_t at = offset + got;
        struct dwarf_chunk *k = find_chunk(s, (size_t)(at / DWARF_CHUNK_BYTES));
        size_t from = (size_t)(at % DWARF_CHUNK_BYTES), n;

        if (!k)
            return got;
        n = MIN(k->n - from, max - got);
        memcpy((char *)to + got, k->bytes + from, n);
        got += n;
    }
    return got;
}

bool dwarf_section_copy(struct dwarf_section *s, uint64_t offset, void *to, size_t n)
{
    return offset <= s->bytes && n <= s->bytes - offset &&
           dwarf_section_some(s, offset, to, n) == n;
}
