/* SPDX-License-Identifier: Apache-2.0 */
/* Names the code of a process by the files, the perf map and the JVM behind it. */
#include "symbolize/resolver_impl.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "proc/stall_readers.h"

#define RESOLVER_PCS_MAX (1u << 16)
#define RESOLVER_NO_MAP_BIT (UINT64_C(1) << 63) /* in keys of pcs: without the perf map */

int resolver_new(const struct resolver_env *env, const struct proc_id *id, uint64_t exec_time_ns,
                 struct resolver **ret)
{
    struct resolver *r = calloc(1, sizeof(*r));

    if (!r)
        return -ENOMEM;
    r->env = env;
    r->id = *id;
    r->exec_time_ns = exec_time_ns;
    u64_cache_init(&r->pcs, RESOLVER_PCS_MAX);
    *ret = r;
    return 0;
}

struct resolver *resolver_free(struct resolver *r)
{
    if (!r)
        return NULL;
    *r->env->maps_bytes -= resolver_maps_bytes(&r->maps);
    maps_deinit(&r->maps);
    free(r->bound);
    u64_cache_deinit(&r->pcs);
    perf_map_close(r->perf_map);
    free(r->met);
    java_names_free(r->java);
    thread_names_free(r->threads);
    lock_names_free(r->locks);
    free(r);
    return NULL;
}

void resolver_tick(struct resolver *r, uint64_t now_ns)
{
    r->met_reading = r->met_generated = false;
    if (r->due_ns && now_ns >= r->due_ns)
        resolver_read_maps(r, now_ns);
    if (r->perf_map && perf_map_refresh(r->perf_map, *r->env->perf_maps, now_ns))
        u64_cache_clear(&r->pcs);
}

/* ---- names ---- */

static uint32_t clean_string(struct resolver *r, struct span raw)
{
    return frame_table_clean(r->env->frames, raw, TEXT_UTF8);
}

static uint32_t make_frame(struct resolver *r, uint32_t name, uint32_t module, enum frame_kind kind)
{
    struct function f = { .name = name, .module = module };
    struct frame frame = { .kind = (uint8_t)kind, .unknown = kind == FRAME_UNKNOWN };
    uint32_t id = 0;

    if (!name)
        return 0;
    frame_table_function(r->env->frames, &f, &frame.function);
    if (!frame.function)
        return 0;
    frame_table_frame(r->env->frames, &frame, &id);
    return id;
}

uint64_t resolver_owner(struct resolver *r)
{
    if (!r->owner)
        r->owner = readers_owner(&r->id);
    return r->owner;
}

/* Returns the interned readable name of @s; 0: the name is not known yet. *ret_lasting: the name is
 * final and was stored. */
static uint32_t symbol_text_id(struct resolver *r, struct symbol_table *t, const struct symbol *s,
                               bool *ret_lasting)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(SYMBOL_NAME_MAX + TEXT_NAME_MAX);
    uint32_t *kept = symbol_string(t, s), id = 0;
    int k;

    *ret_lasting = *kept;
    if (*kept)
        return *kept;
    k = namer_name(r->env->namer, resolver_owner(r), symbol_name(t, s), &text);
    if (k != NAMER_COMING)
        id = clean_string(r, buf_span(&text));
    if (k == 0)
        *kept = id;
    *ret_lasting = k == 0;
    return id;
}

/* Does the same for a symbol of a perf map with readable names. */
static uint32_t perf_map_text_id(struct resolver *r, const struct symbol *s)
{
    struct symbol_table *t = perf_map_symbols(r->perf_map);
    uint32_t *kept = symbol_string(t, s);

    if (!*kept)
        *kept = clean_string(r, symbol_name(t, s));
    return *kept;
}

/* Returns the frame with the name "libfoo.so+0x1a2b". */
static uint32_t offset_frame(struct resolver *r, const struct mapping *m, uint32_t module,
                             uint64_t offset)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(1024);
    struct span name = span_base_name(m->path);

    name.n = MIN(name.n, (size_t)512);
    buf_add_span(&text, name);
    buf_printf(&text, "+0x%llx", (unsigned long long)offset);
    return make_frame(r, clean_string(r, buf_span(&text)), module, FRAME_UNKNOWN);
}

/* ---- files ---- */

static uint32_t module_id(struct resolver *r, const struct mapping *m, struct bound *b,
                          const struct elf_image *image)
{
    char hex[ELF_BUILD_ID_MAX * 2 + 1];
    struct module module = { 0 };
    uint32_t id = 0;

    if (b->module)
        return b->module;
    module.path = clean_string(r, m->path);
    for (size_t i = 0; image && i < image->build_id_n; i++)
        snprintf(hex + i * 2, sizeof(hex) - i * 2, "%02x", image->build_id[i]);
    if (image && image->build_id_n)
        frame_table_string(r->env->frames, (struct span){ hex, image->build_id_n * 2 },
                           &module.build_id);
    frame_table_module(r->env->frames, &module, &id);
    if (image)
        b->module = id;
    return id;
}

/* Returns true if the name of @s is only its start address, which *ret gets. */
static bool symbol_is_start(const struct symbol_table *t, const struct symbol *s, uint64_t *ret)
{
    struct span name = symbol_name(t, s);

    return span_take_str(&name, "+0x") && span_take_hex(&name, ret) && !name.n;
}

/* Records the kind of native image of the file @b. @named: its code has a name. */
static void see_image(struct resolver *r, const struct bound *b, bool named)
{
    const struct elf_headers *h = elf_cache_headers(r->env->elf, b->elf);

    if (h && h->native_image)
        r->native_image =
            !named || r->native_image == IMAGE_NAMELESS ? IMAGE_NAMELESS : IMAGE_NAMED;
}

/* Returns the frame of @address in a file. *ret_lasting: a later call will return the same. Not so
 * for a file that was just evicted, which is read again after RESOLVER_AGAIN_NS. */
static uint32_t file_frame(struct resolver *r, const struct mapping *m, uint64_t address,
                           uint64_t now_ns, bool *ret_lasting)
{
    struct bound *b = &r->bound[m - r->maps.entries];
    struct elf_image *image = resolver_bind(r, m, b, now_ns);
    uint64_t offset = address - m->start + m->offset, vaddr = offset;
    uint32_t module = module_id(r, m, b, image), name;
    const struct symbol *s = NULL;

    r->met_reading |= b->state == BOUND_READING;
    if (image && (image->too_large || image->no_room_bytes))
        r->gaps.left_out_ns = now_ns;
    if (image && elf_segments_vaddr(image->segments, image->segment_count, offset, &vaddr))
        s = symbol_table_find(&image->symbols, vaddr);
    if (s && symbol_is_start(&image->symbols, s, &vaddr))
        s = NULL;
    if (image)
        see_image(r, b, s);
    *ret_lasting = image && b->state == BOUND_FILE && r->gaps.left_out_ns != now_ns;
    if (!s)
        return offset_frame(r, m, module, vaddr);
    name = symbol_text_id(r, &image->symbols, s, ret_lasting);
    if (!name && !*ret_lasting) {
        r->met_reading = true;
        return offset_frame(r, m, module, vaddr);
    }
    return make_frame(r, name, module, path_is_libjvm(m->path) ? FRAME_JVM : FRAME_NATIVE);
}

/* ---- perf map ---- */

/* Opens the perf map. A new copy replaces the previous one. */
static void open_perf_map(struct resolver *r, uint64_t now_ns)
{
    struct perf_map *m = NULL;
    int fd = -1;

    r->perf_map_again_ns = now_ns + RESOLVER_AGAIN_NS;
    if (r->env->files->perfmap(r->env->files->cookie, &r->id, &fd, NULL) != 0 ||
        perf_map_open(fd, resolver_owner(r), r->env->perf_map_max_bytes, r->env->memory, &m) < 0)
        return;
    perf_map_close(r->perf_map);
    r->perf_map = m;
    perf_map_refresh(m, *r->env->perf_maps, now_ns);
}

static uint32_t perf_map_frame(struct resolver *r, uint64_t address, uint64_t now_ns)
{
    const struct symbol *s;

    if (now_ns >= r->perf_map_again_ns &&
        (!r->perf_map || (perf_map_is_copy(r->perf_map) && !perf_map_comes(r->perf_map) &&
                          !perf_map_find(r->perf_map, address))))
        open_perf_map(r, now_ns);
    if (!r->perf_map)
        return 0;
    s = perf_map_find(r->perf_map, address);
    if (!s && perf_map_refresh_missed(r->perf_map, *r->env->perf_maps, now_ns)) {
        u64_cache_clear(&r->pcs);
        s = perf_map_find(r->perf_map, address);
    }
    r->met_reading |= !s && perf_map_comes(r->perf_map);
    if (!s && perf_map_is_cut(r->perf_map))
        r->gaps.left_out_ns = now_ns;
    if (!s && perf_map_is_long(r->perf_map))
        r->gaps.long_map_ns = now_ns;
    return s ? make_frame(r, perf_map_text_id(r, s), 0, FRAME_NATIVE) : 0;
}

/* ---- code at an address ---- */

const struct naming_gaps *resolver_gaps(const struct resolver *r)
{
    return &r->gaps;
}

void resolver_leave_out(struct resolver *r, uint64_t now_ns)
{
    r->gaps.left_out_ns = now_ns;
}

void resolver_leave_unread(struct resolver *r, uint64_t now_ns)
{
    r->gaps.unread_ns = now_ns;
}

enum native_image resolver_native_image(const struct resolver *r)
{
    return r->native_image;
}

bool resolver_met_reading(const struct resolver *r)
{
    return r->met_reading;
}

bool resolver_met_generated(const struct resolver *r)
{
    return r->met_generated;
}

/* Returns true if the readable name of the symbol at @address of @m is not ready yet. The file was
 * read before. */
static bool name_comes(struct resolver *r, const struct mapping *m, struct elf_image *image,
                       uint64_t address)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(SYMBOL_NAME_MAX + TEXT_NAME_MAX);
    const struct symbol *s = NULL;
    uint64_t vaddr;

    if (elf_segments_vaddr(image->segments, image->segment_count, address - m->start + m->offset,
                           &vaddr))
        s = symbol_table_find(&image->symbols, vaddr);
    if (!s || *symbol_string(&image->symbols, s))
        return false;
    return namer_name(r->env->namer, resolver_owner(r), symbol_name(&image->symbols, s), &text) ==
           NAMER_COMING;
}

bool resolver_reads(struct resolver *r, uint64_t address, bool perf_map, uint64_t now_ns)
{
    uint64_t key = address | (perf_map ? 0 : RESOLVER_NO_MAP_BIT);
    struct elf_image *image;
    const struct mapping *m;
    struct bound *b;

    if (u64_cache_get(&r->pcs, key, &(uint32_t){ 0 }))
        return false;
    m = resolver_mapping(r, address, now_ns);
    if (m && mapping_may_be_generated(m) && r->perf_map && perf_map_comes(r->perf_map) &&
        (perf_map || !mapping_is_anonymous(m)))
        return true;
    if (!m || mapping_is_anonymous(m))
        return false;
    b = &r->bound[m - r->maps.entries];
    image = resolver_bind(r, m, b, now_ns);
    return b->state == BOUND_READING || (image && name_comes(r, m, image, address));
}

/* Returns true for a file in memory that is no ELF file. Such a file has generated code: a runtime
 * maps its code by a file, so that no page is both writable and executable. */
static bool is_no_elf(const struct resolver *r, const struct mapping *m, uint32_t frame)
{
    return frame && frame_table_get(r->env->frames, frame)->unknown &&
           mapping_may_be_generated(m) && r->bound[m - r->maps.entries].state == BOUND_FAILED;
}

uint32_t resolver_native(struct resolver *r, uint64_t address, bool perf_map, uint64_t now_ns)
{
    uint64_t key = address | (perf_map ? 0 : RESOLVER_NO_MAP_BIT);
    const struct mapping *m;
    uint32_t frame = 0;
    bool lasting = true;

    if (u64_cache_get(&r->pcs, key, &frame))
        return frame;
    m = resolver_mapping(r, address, now_ns);
    if (!m || (!perf_map && mapping_is_anonymous(m)))
        return 0;
    if (mapping_may_be_generated(m))
        frame = perf_map_frame(r, address, now_ns);
    if (!frame && !mapping_is_anonymous(m))
        frame = file_frame(r, m, address, now_ns, &lasting);
    r->met_generated |= mapping_is_anonymous(m) ? !frame : is_no_elf(r, m, frame);
    if (frame && lasting && !frame_table_get(r->env->frames, frame)->unknown)
        u64_cache_put(&r->pcs, key, frame);
    else if (frame && lasting)
        u64_cache_put(&r->pcs, address, frame); /* the file has no name for it, and never will have
                                                 * one */
    return frame;
}

/* Returns the number that inlines gives to the file of @b, which was read before; 0: none. */
static uint32_t inlines_number(struct resolver *r, const struct mapping *m, struct bound *b,
                               uint64_t now_ns)
{
    struct inlines *n = r->env->inlines;
    const struct elf_headers *h;

    if (b->inlines && inlines_knows(n, b->inlines))
        return b->inlines;
    h = now_ns >= b->inlines_again_ns ? elf_cache_headers(r->env->elf, b->elf) : NULL;
    if (!h)
        return 0;
    b->inlines_again_ns = now_ns + RESOLVER_AGAIN_NS;
    b->inlines = inlines_file(n, &r->id, m->start, m->end, h, now_ns);
    return b->inlines;
}

uint32_t resolver_place(struct resolver *r, uint64_t address, uint64_t now_ns, uint64_t *ret)
{
    const struct mapping *m = maps_find(&r->maps, address);
    struct elf_image *image;
    struct bound *b;
    uint32_t number;

    if (!r->env->inlines || !m || !m->exec || mapping_is_anonymous(m))
        return 0;
    b = &r->bound[m - r->maps.entries];
    image = b->state == BOUND_FILE ? elf_cache_get(r->env->elf, b->elf) : NULL;
    if (!image || !elf_segments_vaddr(image->segments, image->segment_count,
                                      address - m->start + m->offset, ret))
        return 0;
    number = inlines_number(r, m, b, now_ns);
    if (number)
        inlines_want(r->env->inlines, number, *ret, now_ns);
    return number;
}

bool resolver_prepare(struct resolver *r)
{
    uint64_t now_ns = clock_monotonic_ns();

    if (r->prepared)
        return false;
    if (!r->maps.count)
        resolver_read_maps(r, now_ns);
    for (size_t i = 0; i < r->maps.count; i++) {
        const struct mapping *m = &r->maps.entries[i];

        if (!m->exec || mapping_is_anonymous(m) || r->bound[i].state != BOUND_NOT_YET)
            continue;
        resolver_bind(r, m, &r->bound[i], now_ns);
    }
    r->prepared = true;
    return true;
}

struct java_names *resolver_java(struct resolver *r)
{
    if (!r->java)
        java_names_new(r->env->frames, &r->java);
    return r->java;
}

struct thread_names *resolver_threads(struct resolver *r)
{
    if (!r->threads)
        thread_names_new(r->env->frames, &r->threads);
    return r->threads;
}

struct lock_names *resolver_locks(struct resolver *r)
{
    if (!r->locks)
        lock_names_new(r->env->frames, &r->locks);
    return r->locks;
}

void resolver_use_table(struct resolver *r)
{
    u64_cache_clear(&r->pcs);
    for (size_t i = 0; i < r->maps.count; i++)
        r->bound[i].module = 0;
    if (r->perf_map)
        perf_map_forget_strings(r->perf_map);
    r->java = java_names_free(r->java);
    r->threads = thread_names_free(r->threads);
    r->locks = lock_names_free(r->locks);
}

uint64_t resolver_java_methods(const struct resolver *r)
{
    return r->java ? java_names_methods(r->java) : 0;
}
