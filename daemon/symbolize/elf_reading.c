/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/elf_reading.h"

#include "base/cleanup.h"
#include "base/list.h"
#include "base/memfd_copy.h"
#include "base/reading_turn.h"

struct elf_image *elf_image_free(struct elf_image *image)
{
    if (image)
        symbol_table_deinit(&image->symbols);
    free(image);
    return NULL;
}

static void image_freep(struct elf_image **image)
{
    elf_image_free(*image);
}

bool elf_keys_equal(const struct elf_keys *a, const struct elf_keys *b)
{
    return file_identity_equal(&a->file, &b->file) && a->has_debug == b->has_debug &&
           a->has_link == b->has_link &&
           (!a->has_debug || file_identity_equal(&a->debug, &b->debug)) &&
           (!a->has_link || file_identity_equal(&a->link, &b->link));
}

/* ---- the steps ---- */

/* Adds the symbols of the small ELF file that is packed in @f, if there is one. *ret: hash of that
 * file. */
static int add_mini(struct elf_file *f, const struct fingerprint_key *key, struct symbol_builder *b,
                    uint64_t *ret)
{
    _cleanup_(elf_file_closep) struct elf_file *mini = NULL;
    int r = elf_file_mini(f, &mini);

    if (r != 0)
        return MIN(r, 0);
    b->max_bytes -= ELF_MINI_MAX_BYTES;
    elf_file_begin_print(mini, key);
    r = elf_file_symbols(mini, b);
    *ret = elf_file_print(mini);
    b->max_bytes += ELF_MINI_MAX_BYTES;
    return r;
}

/* Reads all symbols. *ret_print: hash of all that was read. Returns 0, -EDQUOT or -ENOMEM. */
static int read_all(struct elf_reading *r, struct elf_file *debug, struct symbol_builder *b,
                    uint64_t *ret_print)
{
    struct elf_file *f = r->file;
    uint64_t prints[3] = { 0 };
    int k;

    elf_file_begin_print(f, &r->key);
    k = elf_file_symbols(f, b);
    if (k == 0 && debug) {
        elf_file_begin_print(debug, &r->key);
        k = elf_file_symbols(debug, b);
        prints[1] = elf_file_print(debug);
    }
    if (k == 0 && !debug && !elf_file_has_symtab(f))
        k = add_mini(f, &r->key, b, &prints[2]);
    if (k == 0 && !debug)
        k = elf_file_starts(f, b);
    prints[0] = elf_file_print(f);
    *ret_print = fingerprint(&r->key, (struct span){ (const char *)prints, sizeof(prints) });
    return k;
}

/* Makes an image without symbols. Returns NULL if memory is short. */
static struct elf_image *image_of(const struct elf_file *f)
{
    struct elf_image *image = calloc(1, sizeof(*image));
    struct span build_id = elf_file_build_id(f);
    const struct elf_segment *segments;

    if (!image)
        return NULL;
    segments = elf_file_segments(f, &image->segment_count);
    memcpy(image->segments, segments, image->segment_count * sizeof(*segments));
    image->build_id_n = build_id.n;
    memcpy(image->build_id, build_id.p, build_id.n);
    return image;
}

static bool same_build_id(const struct elf_file *a, const struct elf_file *b)
{
    struct span id = elf_file_build_id(a);

    return id.n && span_eq(id, elf_file_build_id(b));
}

/* Returns the debug file that belongs to the file of @r; NULL if neither debug file does. */
static struct elf_file *own_debug_file(const struct elf_reading *r)
{
    _cleanup_(elf_file_closep) struct elf_file *debug = NULL, *link = NULL;

    if (r->debug_fd >= 0 && elf_file_open(r->debug_fd, &debug, NULL) == 0 &&
        same_build_id(r->file, debug))
        return TAKE_PTR(debug);
    if (r->link_fd >= 0 && elf_file_open(r->link_fd, &link, NULL) == 0 &&
        (same_build_id(r->file, link) || elf_crc_matches(r->link_fd, r->headers.link_crc)))
        return TAKE_PTR(link);
    return NULL;
}

static bool is_known(const struct elf_reading *r)
{
    return ANY_OF(i, r->known_count, r->known[i] == r->print);
}

static int read_symbols(struct elf_reading *r)
{
    _cleanup_(elf_file_closep) struct elf_file *debug = own_debug_file(r);
    _cleanup_(image_freep) struct elf_image *image = NULL;
    _cleanup_symbol_builder_ struct symbol_builder b = { 0 };
    int k;

    symbol_builder_init(&b, ELF_SYMBOLS_MAX, ELF_READING_NAMES_MAX_BYTES);
    b.max_bytes = READING_MAX_BYTES;
    b.aliases = true;
    k = read_all(r, debug, &b, &r->print);
    if (k == 0 && is_known(r))
        return 0;
    image = k == 0 || k == -EDQUOT ? image_of(r->file) : NULL;
    if (!image)
        return k < 0 ? k : -ENOMEM;
    if (k == 0)
        k = symbol_table_build(&b, &image->symbols);
    image->too_large = k == -EDQUOT;
    if (image->too_large)
        r->print = 0; /* the file was not read completely */
    else if (k < 0)
        return k;
    r->image = TAKE_PTR(image);
    return 0;
}

static int open_file(struct elf_reading *r)
{
    struct elf_headers *h = &r->headers;
    int k = elf_file_open(r->fd, &r->file, &r->err);
    struct span build_id;

    if (k < 0)
        return k;
    build_id = elf_file_build_id(r->file);
    *h = (struct elf_headers){ .native_image = elf_file_is_native_image(r->file),
                               .stripped = !elf_file_has_symtab(r->file),
                               .build_id_n = build_id.n };
    memcpy(h->build_id, build_id.p, build_id.n);
    if (h->stripped && !elf_file_debuglink(r->file, h->link_name, &h->link_crc))
        h->link_name[0] = 0;
    return 0;
}

static void run_step(struct work *work)
{
    struct elf_reading *r = (struct elf_reading *)work;

    if (r->step == ELF_STEP_OPEN) {
        r->outcome = open_file(r);
        return;
    }
    reading_turn_begin();
    r->outcome = read_symbols(r);
    reading_turn_end();
}

/* ---- creating and freeing ---- */

struct elf_reading *elf_reading_new(int fd, uint64_t owner, const struct symbol_files *files,
                                    const struct proc_id *id, uint64_t start, uint64_t end,
                                    const struct fingerprint_key *key, struct shares *copies)
{
    struct elf_reading *r = calloc(1, sizeof(*r));

    if (!r) {
        close_fd(fd);
        return NULL;
    }
    *r = (struct elf_reading){ .work = { .run = run_step, .owner = owner },
                               .owner = owner,
                               .id = *id,
                               .start = start,
                               .end = end,
                               .files = files,
                               .key = *key,
                               .fd = fd,
                               .copies = copies,
                               .debug_fd = -1,
                               .link_fd = -1 };
    file_identity_of(fd, &r->keys.file);
    r->copied = sealed_bytes(fd);
    shares_force(copies, owner, r->copied);
    return r;
}

/* Closes one of the reading's files, and gives back the bytes charged for it. The file's current
 * size may differ from that number, because its owner can seal the file or make it grow. */
static void drop_file(const struct elf_reading *r, int *fd, uint64_t *copied)
{
    shares_give(r->copies, r->owner, *copied);
    *copied = 0;
    *fd = close_fd(*fd);
}

struct elf_reading *elf_reading_free(struct elf_reading *r)
{
    if (!r)
        return NULL;
    elf_file_close(r->file);
    elf_image_free(r->image);
    drop_file(r, &r->fd, &r->copied);
    drop_file(r, &r->debug_fd, &r->debug_copied);
    drop_file(r, &r->link_fd, &r->link_copied);
    free(r->known);
    free(r);
    return NULL;
}

/* Keeps the debug file *@fd, unless it is a copy for which there is no room. Returns true if it is
 * kept. */
static bool keep_debug(const struct elf_reading *r, int *fd, uint64_t *copied,
                       struct file_identity *identity)
{
    uint64_t bytes = sealed_bytes(*fd);

    if (!shares_take(r->copies, r->owner, bytes)) {
        *fd = close_fd(*fd);
        return false;
    }
    *copied = bytes;
    file_identity_of(*fd, identity);
    return true;
}

int elf_reading_find_debug(struct elf_reading *r)
{
    const struct elf_headers *h = &r->headers;
    const struct symbol_files *f = r->files;
    int by_id = 1, by_link = 1; /* 1: not yet known */

    if (!h->stripped)
        return 0;
    if (h->build_id_n)
        by_id = f->debug(f->cookie, &r->id, h->build_id, h->build_id_n, &r->debug_fd, NULL);
    if (by_id == 0)
        r->keys.has_debug = keep_debug(r, &r->debug_fd, &r->debug_copied, &r->keys.debug);
    if (h->link_name[0])
        by_link =
            f->debuglink(f->cookie, &r->id, r->start, r->end, h->link_name, &r->link_fd, NULL);
    if (by_link == 0)
        r->keys.has_link = keep_debug(r, &r->link_fd, &r->link_copied, &r->keys.link);
    return by_id == -ETIMEDOUT || by_link == -ETIMEDOUT ? -ETIMEDOUT : 0;
}

void elf_reading_forget_debug(struct elf_reading *r)
{
    drop_file(r, &r->debug_fd, &r->debug_copied);
    drop_file(r, &r->link_fd, &r->link_copied);
    r->keys = (struct elf_keys){ .file = r->keys.file };
}
