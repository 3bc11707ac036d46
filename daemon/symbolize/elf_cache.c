/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/elf_cache.h"

#include "base/cleanup.h"

struct elf_slot {
    struct elf_image *image; /* owned; NULL: free */
    uint64_t print;          /* of the file and of its debug file */
    uint64_t used;           /* turn of the last use */
    uint32_t serial;
    size_t bytes;
};

struct elf_cache {
    struct elf_slot *slots; /* [count] */
    size_t count;
    struct fingerprint_key key;
    uint64_t turn;
    uint32_t serial;
    struct elf_cache_stats stats;
};

static void image_free(struct elf_image *image)
{
    if (image)
        symbol_table_deinit(&image->symbols);
    free(image);
}

static void image_freep(struct elf_image **image)
{
    image_free(*image);
}

int elf_cache_new(size_t files_max, struct elf_cache **ret)
{
    struct elf_cache *c = calloc(1, sizeof(*c));

    if (c) {
        c->count = MAX(files_max, (size_t)1);
        c->slots = calloc(c->count, sizeof(*c->slots));
    }
    if (!c || !c->slots) {
        free(c);
        return -ENOMEM;
    }
    c->key = fingerprint_key_new();
    *ret = c;
    return 0;
}

static void slot_clear(struct elf_cache *c, struct elf_slot *s)
{
    c->stats.files--;
    /* A cache without a free slot has an oldest one. */
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
    c->stats.bytes -= s->bytes;
    image_free(s->image);
    *s = (struct elf_slot){ 0 };
}

struct elf_cache *elf_cache_free(struct elf_cache *c)
{
    if (!c)
        return NULL;
    for (size_t i = 0; i < c->count; i++)
        image_free(c->slots[i].image);
    free(c->slots);
    free(c);
    return NULL;
}

static struct elf_ref slot_ref(struct elf_cache *c, struct elf_slot *s)
{
    s->used = ++c->turn;
    return (struct elf_ref){ .slot = (uint32_t)(s - c->slots), .serial = s->serial };
}

static bool find_print(struct elf_cache *c, uint64_t print, struct elf_ref *ret)
{
    for (size_t i = 0; i < c->count; i++) {
        if (c->slots[i].image && c->slots[i].print == print) {
            *ret = slot_ref(c, &c->slots[i]);
            return true;
        }
    }
    return false;
}

/* A free slot, after whatever has to go for @bytes more. */
static struct elf_slot *make_room(struct elf_cache *c, size_t bytes)
{
    for (;;) {
        struct elf_slot *oldest = NULL, *free_slot = NULL;

        for (size_t i = 0; i < c->count; i++) {
            struct elf_slot *s = &c->slots[i];

            if (!s->image)
                free_slot = s;
            else if (!oldest || s->used < oldest->used)
                oldest = s;
        }
        if (free_slot && (!oldest || c->stats.bytes + bytes <= ELF_CACHE_MAX_BYTES))
            return free_slot;
        slot_clear(c, oldest);
        c->stats.evicted++;
    }
}

/* ---- the separate debug file ---- */

static bool same_build_id(const struct elf_file *a, const struct elf_file *b)
{
    struct span id = elf_file_build_id(a);

    return id.n && span_eq(id, elf_file_build_id(b));
}

/* What a stripped file's symbols come from; released by the caller after @file. */
struct debug_file {
    struct elf_file *file; /* NULL: none */
    int fd;
};

static void debug_file_deinit(struct debug_file *d)
{
    elf_file_close(d->file);
    d->fd = close_fd(d->fd);
}

static bool debug_by_build_id(const struct symbol_files *files, const struct proc_id *id,
                              struct elf_file *f, struct debug_file *d)
{
    struct span build_id = elf_file_build_id(f);

    if (!build_id.n ||
        files->debug(files->cookie, id, (const uint8_t *)build_id.p, build_id.n, &d->fd, NULL) != 0)
        return false;
    if (elf_file_open(d->fd, &d->file, NULL) == 0 && same_build_id(f, d->file))
        return true;
    debug_file_deinit(d);
    *d = (struct debug_file){ .fd = -1 };
    return false;
}

static bool debug_by_link(const struct symbol_files *files, const struct proc_id *id,
                          uint64_t start, uint64_t end, struct elf_file *f, struct debug_file *d)
{
    char name[ELF_DEBUGLINK_NAME_MAX + 1];
    uint32_t crc;

    if (!elf_file_debuglink(f, name, &crc) ||
        files->debuglink(files->cookie, id, start, end, name, &d->fd, NULL) != 0)
        return false;
    if (elf_file_open(d->fd, &d->file, NULL) == 0 &&
        (same_build_id(f, d->file) || elf_crc_matches(d->fd, crc)))
        return true;
    debug_file_deinit(d);
    *d = (struct debug_file){ .fd = -1 };
    return false;
}

/* ---- reading a file ---- */

static int build_image(struct elf_file *f, struct elf_file *debug, struct elf_image **ret)
{
    _cleanup_(image_freep) struct elf_image *image = calloc(1, sizeof(*image));
    _cleanup_symbol_builder_ struct symbol_builder b = { 0 };
    _cleanup_(elf_file_closep) struct elf_file *mini = NULL;
    const struct elf_segment *segments = elf_file_segments(f, &(size_t){ 0 });
    struct span build_id = elf_file_build_id(f);
    int r;

    if (!image)
        return -ENOMEM;
    elf_file_segments(f, &image->segment_count);
    memcpy(image->segments, segments, image->segment_count * sizeof(*segments));
    image->build_id_n = build_id.n;
    memcpy(image->build_id, build_id.p, build_id.n);

    symbol_builder_init(&b, ELF_SYMBOLS_MAX, ELF_CACHE_NAMES_MAX_BYTES);
    r = elf_file_symbols(f, &b);
    if (r == 0 && debug)
        r = elf_file_symbols(debug, &b);
    if (r == 0 && !debug && !elf_file_has_symtab(f)) {
        r = elf_file_mini(f, &mini);
        if (r == 0)
            r = elf_file_symbols(mini, &b);
    }
    if (r >= 0)
        r = symbol_table_build(&b, &image->symbols);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(image);
    return 0;
}

static int store_image(struct elf_cache *c, uint64_t print, struct elf_image *image,
                       struct elf_ref *ret)
{
    size_t bytes = sizeof(*image) + symbol_table_bytes(&image->symbols);
    struct elf_slot *s = make_room(c, bytes);

    if (++c->serial == 0)
        c->serial = 1;
    *s = (struct elf_slot){ .image = image, .print = print, .serial = c->serial, .bytes = bytes };
    c->stats.files++;
    c->stats.bytes += bytes;
    *ret = slot_ref(c, s);
    return 0;
}

static int load_file(struct elf_cache *c, const struct symbol_files *files,
                     const struct proc_id *id, uint64_t start, uint64_t end, int fd,
                     struct elf_ref *ret, struct error *err)
{
    _cleanup_(debug_file_deinit) struct debug_file debug = { .fd = -1 };
    _cleanup_(elf_file_closep) struct elf_file *f = NULL;
    struct elf_image *image;
    uint64_t prints[2] = { 0 }, print;
    int r = elf_file_open(fd, &f, err);

    if (r < 0)
        return r;
    if (!elf_file_has_symtab(f) && !debug_by_build_id(files, id, f, &debug))
        debug_by_link(files, id, start, end, f, &debug);
    prints[0] = elf_file_fingerprint(f, &c->key);
    if (debug.file)
        prints[1] = elf_file_fingerprint(debug.file, &c->key);
    print = fingerprint(&c->key, (struct span){ (const char *)prints, sizeof(prints) });
    if (find_print(c, print, ret))
        return 0;
    r = build_image(f, debug.file, &image);
    return r < 0 ? r : store_image(c, print, image, ret);
}

int elf_cache_load(struct elf_cache *c, const struct symbol_files *files, const struct proc_id *id,
                   uint64_t start, uint64_t end, struct elf_ref *ret, struct error *err)
{
    _cleanup_close_ int fd = -1;
    int r = files->mapped(files->cookie, id, start, end, &fd, err);

    if (r == 0)
        r = load_file(c, files, id, start, end, fd, ret, err);
    if (r < 0)
        c->stats.failed++;
    return r;
}

struct elf_image *elf_cache_get(struct elf_cache *c, struct elf_ref ref)
{
    struct elf_slot *s = &c->slots[ref.slot];

    if (!ref.serial || !s->image || s->serial != ref.serial)
        return NULL;
    s->used = ++c->turn;
    return s->image;
}

void elf_cache_forget_strings(struct elf_cache *c)
{
    for (size_t i = 0; i < c->count; i++) {
        if (c->slots[i].image)
            symbol_table_forget_strings(&c->slots[i].image->symbols);
    }
}

void elf_cache_stats(const struct elf_cache *c, struct elf_cache_stats *ret)
{
    *ret = c->stats;
}
