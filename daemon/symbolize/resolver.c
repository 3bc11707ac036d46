/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/resolver.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "proc/stall_readers.h"
#include "symbolize/demangle.h"
#include "symbolize/word_cache.h"

#define RESOLVER_PCS_MAX (1u << 16)
#define RESOLVER_NO_MAP_BIT (UINT64_C(1) << 63) /* in keys of pcs: named without the perf map */
#define RESOLVER_REST                                                                              \
    50 /* after a reading of the maps of t ns at least 50 t pass before the next */
/* Executable mappings that are kept of a process, and bytes of their paths; fewer once all together
 * take RESOLVER_MAPS_BYTES. Of hundreds of processes with thousands of mappings each, most have no
 * names. */
#define RESOLVER_MAPPINGS_MAX 4096
#define RESOLVER_MAPPINGS_FEW 256
#define RESOLVER_PATHS_MAX ((size_t)128 << 10)
#define RESOLVER_PATHS_FEW ((size_t)16 << 10)
#define RESOLVER_MAPS_BYTES ((size_t)32 << 20)
#define RESOLVER_MAPS_NS (20 * NSEC_PER_MSEC)
#define RESOLVER_AGAIN_NS NSEC_PER_SEC /* before a file or perf map that failed is tried again */

enum bound_state { BOUND_NOT_YET, BOUND_READING, BOUND_FILE, BOUND_FAILED };

/* What is known of a mapping beyond its line. */
struct bound {
    struct elf_ref elf;
    uint64_t again_ns;
    uint32_t module;  /* id; 0: not made yet */
    uint8_t state;    /* enum bound_state */
    uint32_t inlines; /* number of the file there; 0: not asked for yet */
    uint64_t inlines_again_ns;
};

struct resolver {
    const struct resolver_env *env;
    struct proc_id id;
    struct maps maps;
    struct bound *bound;   /* [maps.count] */
    struct word_cache pcs; /* address -> frame */
    uint64_t miss_ns;      /* no reading of the maps for a miss before */
    uint64_t due_ns;       /* maps are read again then */
    uint64_t exec_time_ns;
    struct perf_map *perf_map;
    uint64_t perf_map_again_ns;
    bool prepared;
    bool met_reading;       /* since the last tick */
    uint64_t unanswered_ns; /* when a file system did last not answer; 0: never */
    uint64_t put_off_ns; /* the maps were to be read, and its owner had no time left; 0: they are */
    struct java_names *java;
    struct thread_names *threads;
    struct lock_names *locks;
};

static size_t maps_bytes(const struct maps *m)
{
    return m->count * (sizeof(struct mapping) + sizeof(struct bound)) + m->text.n;
}

int resolver_new(const struct resolver_env *env, const struct proc_id *id, uint64_t exec_time_ns,
                 struct resolver **ret)
{
    struct resolver *r = calloc(1, sizeof(*r));

    if (!r)
        return -ENOMEM;
    r->env = env;
    r->id = *id;
    r->exec_time_ns = exec_time_ns;
    word_cache_init(&r->pcs, RESOLVER_PCS_MAX);
    *ret = r;
    return 0;
}

struct resolver *resolver_free(struct resolver *r)
{
    if (!r)
        return NULL;
    *r->env->maps_bytes -= maps_bytes(&r->maps);
    maps_deinit(&r->maps);
    free(r->bound);
    word_cache_deinit(&r->pcs);
    perf_map_close(r->perf_map);
    java_names_free(r->java);
    thread_names_free(r->threads);
    lock_names_free(r->locks);
    free(r);
    return NULL;
}

/* ---- maps ---- */

static bool same_mapping(const struct mapping *a, const struct mapping *b)
{
    return a->start == b->start && a->end == b->end && a->offset == b->offset &&
           a->inode == b->inode && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor &&
           a->exec == b->exec && span_eq(a->path, b->path);
}

/* Hands what is known of mappings on to @maps. Returns true when all executable ones are still
 * there, as they were. */
static bool carry_over(const struct resolver *r, const struct maps *maps, struct bound *bound)
{
    bool kept = true;
    size_t j = 0;

    for (size_t i = 0; i < r->maps.count; i++) {
        const struct mapping *m = &r->maps.entries[i];

        while (j < maps->count && maps->entries[j].start < m->start)
            j++;
        if (j < maps->count && same_mapping(m, &maps->entries[j]))
            bound[j] = r->bound[i];
        else
            kept &= !m->exec;
    }
    return kept;
}

/* When maps that were read at @now_ns are to be read again though nothing was missed: 1 s and 10 s
 * after an exec, when libraries have been loaded, and from then on rarely. */
static uint64_t next_due(const struct resolver *r, uint64_t now_ns)
{
    if (r->exec_time_ns && now_ns < r->exec_time_ns + NSEC_PER_SEC)
        return r->exec_time_ns + NSEC_PER_SEC;
    if (r->exec_time_ns && now_ns < r->exec_time_ns + 10 * NSEC_PER_SEC)
        return r->exec_time_ns + 10 * NSEC_PER_SEC;
    return now_ns + RESOLVER_STALE_NS;
}

/* Takes *m. */
static void take_maps(struct resolver *r, struct maps *m)
{
    struct bound *bound = m->count ? calloc(m->count, sizeof(*bound)) : NULL;

    if (!bound) { /* none: the process is about to be gone; what was read before is better */
        maps_deinit(m);
        return;
    }
    if (!carry_over(r, m, bound))
        word_cache_clear(&r->pcs);
    *r->env->maps_bytes += maps_bytes(m) - maps_bytes(&r->maps);
    maps_deinit(&r->maps);
    free(r->bound);
    r->maps = *m;
    r->bound = bound;
}

static void read_maps(struct resolver *r, uint64_t now_ns)
{
    const bool many = *r->env->maps_bytes < RESOLVER_MAPS_BYTES;
    const struct maps_limits limits = {
        .entries = many ? RESOLVER_MAPPINGS_MAX : RESOLVER_MAPPINGS_FEW,
        .path_bytes = many ? RESOLVER_PATHS_MAX : RESOLVER_PATHS_FEW,
        .ns = RESOLVER_MAPS_NS,
    };
    uint64_t began_ns = clock_monotonic_ns(), took_ns;
    struct maps maps;
    int fd = -1;

    if (!readers_afford(&r->id)) {
        r->miss_ns = now_ns + RESOLVER_MISS_NS;
        r->due_ns = MAX(r->due_ns, r->miss_ns);
        r->put_off_ns = now_ns;
        return;
    }
    if (r->env->files->maps(r->env->files->cookie, &r->id, &fd, NULL) == 0 &&
        maps_read_exec(&r->id, fd, &limits, &maps) == 0) {
        take_maps(r, &maps);
        r->put_off_ns = 0;
    }
    took_ns = clock_monotonic_ns() - began_ns;
    readers_spend(&r->id, took_ns);
    r->miss_ns = now_ns + MAX(RESOLVER_MISS_NS, took_ns * RESOLVER_REST);
    r->due_ns = MAX(next_due(r, now_ns), r->miss_ns);
}

void resolver_tick(struct resolver *r, uint64_t now_ns)
{
    r->met_reading = false;
    if (r->due_ns && now_ns >= r->due_ns)
        read_maps(r, now_ns);
    if (r->perf_map && perf_map_refresh(r->perf_map, now_ns))
        word_cache_clear(&r->pcs);
}

/* ---- names ---- */

static uint32_t clean_string(struct resolver *r, struct span raw)
{
    _cleanup_buf_ struct buf clean = BUF_NULL;
    uint32_t id = 0;

    buf_init(&clean, TEXT_NAME_MAX);
    text_clean(raw, TEXT_UTF8, TEXT_NAME_MAX, &clean);
    frame_table_string(r->env->frames, buf_span(&clean), &id);
    return id;
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

/* The interned name of @s, made readable the first time. */
static uint32_t symbol_text_id(struct resolver *r, struct symbol_table *t, const struct symbol *s,
                               bool mangled)
{
    _cleanup_buf_ struct buf text = BUF_NULL;
    uint32_t *kept = symbol_string(t, s);

    if (*kept)
        return *kept;
    buf_init(&text, DEMANGLE_OUTPUT_MAX + SYMBOL_NAME_MAX);
    if (mangled)
        demangle(symbol_name(t, s), &text);
    else
        buf_add_span(&text, symbol_name(t, s));
    *kept = clean_string(r, buf_span(&text));
    return *kept;
}

/* "libfoo.so+0x1a2b". */
static uint32_t offset_frame(struct resolver *r, const struct mapping *m, uint32_t module,
                             uint64_t offset)
{
    _cleanup_buf_ struct buf text = BUF_NULL;
    struct span name = span_base_name(m->path);

    name.n = MIN(name.n, (size_t)512);
    buf_init(&text, 1024);
    buf_add_span(&text, name);
    buf_printf(&text, "+0x%llx", (unsigned long long)offset);
    return make_frame(r, clean_string(r, buf_span(&text)), module, FRAME_UNKNOWN);
}

/* ---- files ---- */

/* Memory that is no file: the kernel's names in brackets but for the vdso, shared anonymous memory.
 */
static bool is_anonymous(const struct mapping *m)
{
    return !m->path.n || (m->path.p[0] == '[' && !span_eq_str(m->path, "[vdso]")) ||
           span_starts_with(m->path, "//anon") || span_starts_with(m->path, "/dev/zero") ||
           span_starts_with(m->path, "/SYSV") || span_starts_with(m->path, "anon_inode:");
}

/* Files in which runtimes keep the code that they generate. */
static bool may_be_generated(const struct mapping *m)
{
    return is_anonymous(m) || span_starts_with(m->path, "/memfd:") ||
           span_starts_with(m->path, "/dev/shm/");
}

/* The same file mapped elsewhere in this process, if it was read already, or is being read. */
static bool find_twin(const struct resolver *r, const struct mapping *m, struct bound *b)
{
    for (size_t i = 0; i < r->maps.count; i++) {
        const struct mapping *o = &r->maps.entries[i];
        const struct bound *known = &r->bound[i];

        if (m->inode && o->inode == m->inode && o->dev_major == m->dev_major &&
            o->dev_minor == m->dev_minor && span_eq(o->path, m->path) &&
            (known->state == BOUND_READING ||
             (known->state == BOUND_FILE && elf_cache_get(r->env->elf, known->elf)))) {
            b->elf = known->elf;
            b->state = known->state;
            return true;
        }
    }
    return false;
}

/* After the reading or the loading of @b's file said @outcome. */
static void set_bound(struct resolver *r, struct bound *b, int outcome, uint64_t now_ns)
{
    if (outcome == -ETIMEDOUT)
        r->unanswered_ns = now_ns;
    b->state = outcome == 0                   ? BOUND_FILE
               : outcome == ELF_CACHE_PENDING ? BOUND_READING
                                              : BOUND_FAILED;
}

/* The file behind @m; NULL: it has none that can be read, or (BOUND_READING) not yet. */
static struct elf_image *bind_file(struct resolver *r, const struct mapping *m, struct bound *b,
                                   uint64_t now_ns)
{
    struct elf_cache *elf = r->env->elf;
    struct elf_image *image;

    if (b->state == BOUND_READING) {
        int outcome = elf_cache_settle(elf, &b->elf);

        set_bound(r, b, outcome, now_ns);
        b->again_ns = outcome == -EAGAIN ? 0 : b->again_ns;
    }
    image = b->state == BOUND_FILE ? elf_cache_get(elf, b->elf) : NULL;
    if (image || b->state == BOUND_READING || now_ns < b->again_ns)
        return image;
    b->again_ns = now_ns + RESOLVER_AGAIN_NS;
    b->state = BOUND_FAILED;
    if (!find_twin(r, m, b))
        set_bound(r, b, elf_cache_load(elf, r->env->files, &r->id, m->start, m->end, &b->elf, NULL),
                  now_ns);
    return b->state == BOUND_FILE ? elf_cache_get(elf, b->elf) : NULL;
}

/* As resolver_functions(). */
static void find_functions(const struct elf_image *image, const char *const *prefixes, size_t count,
                           uint64_t *ret)
{
    const struct symbol_table *t = &image->symbols;

    memset(ret, 0, count * sizeof(*ret));
    for (size_t i = 0; i < t->count; i++) {
        struct span name = symbol_name(t, &t->symbols[i]);
        uint64_t start = t->symbols[i].start;

        for (size_t k = 0; k < count; k++) {
            for (size_t j = 0;
                 !ret[k] && span_starts_with(name, prefixes[k]) && j < image->segment_count; j++) {
                const struct elf_segment *seg = &image->segments[j];

                if (seg->exec && start >= seg->vaddr && start - seg->vaddr < seg->file_size)
                    ret[k] = seg->offset + (start - seg->vaddr);
            }
        }
    }
}

int resolver_functions(struct resolver *r, const char *file, const char *const *prefixes,
                       size_t count, uint64_t *ret_offsets, uint64_t *ret_start, uint64_t *ret_end)
{
    uint64_t now_ns = clock_monotonic_ns();

    if (!r->maps.count)
        read_maps(r, now_ns);
    for (size_t i = 0; i < r->maps.count; i++) {
        const struct mapping *m = &r->maps.entries[i];
        const struct elf_image *image;

        if (!m->exec || !span_ends_with(m->path, file))
            continue;
        image = bind_file(r, m, &r->bound[i], now_ns);
        if (!image)
            return r->bound[i].state == BOUND_READING ? -EAGAIN : -ENOENT;
        find_functions(image, prefixes, count, ret_offsets);
        *ret_start = m->start;
        *ret_end = m->end;
        return 0;
    }
    return -ENOENT;
}

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

/* Whether all that is known of @s is where it begins; and *ret, that. */
static bool symbol_is_start(const struct symbol_table *t, const struct symbol *s, uint64_t *ret)
{
    struct span name = symbol_name(t, s);

    return span_take_str(&name, "+0x") && span_take_hex(&name, ret) && !name.n;
}

static uint32_t file_frame(struct resolver *r, const struct mapping *m, uint64_t address,
                           uint64_t now_ns)
{
    struct bound *b = &r->bound[m - r->maps.entries];
    struct elf_image *image = bind_file(r, m, b, now_ns);
    uint64_t offset = address - m->start + m->offset, vaddr = offset;
    uint32_t module = module_id(r, m, b, image), name;
    const struct symbol *s = NULL;

    r->met_reading |= b->state == BOUND_READING;
    if (image && elf_segments_vaddr(image->segments, image->segment_count, offset, &vaddr))
        s = symbol_table_find(&image->symbols, vaddr);
    if (s && symbol_is_start(&image->symbols, s, &vaddr))
        s = NULL;
    if (!s)
        return offset_frame(r, m, module, vaddr);
    name = symbol_text_id(r, &image->symbols, s, /* mangled= */ true);
    return make_frame(r, name, module,
                      span_eq_str(span_base_name(m->path), "libjvm.so") ? FRAME_JVM : FRAME_NATIVE);
}

/* ---- perf map ---- */

/* Opens it; a copy, in place of the one before. */
static void open_perf_map(struct resolver *r, uint64_t now_ns)
{
    struct perf_map *m = NULL;
    int fd = -1;

    r->perf_map_again_ns = now_ns + RESOLVER_AGAIN_NS;
    if (r->env->files->perfmap(r->env->files->cookie, &r->id, &fd, NULL) != 0 ||
        perf_map_open(fd, r->env->perf_map_max_bytes, &m) < 0)
        return;
    perf_map_refresh(m, now_ns);
    perf_map_close(r->perf_map);
    r->perf_map = m;
}

static uint32_t perf_map_frame(struct resolver *r, uint64_t address, uint64_t now_ns)
{
    struct symbol_table *t;
    const struct symbol *s;

    if (now_ns >= r->perf_map_again_ns &&
        (!r->perf_map || (perf_map_is_copy(r->perf_map) &&
                          !symbol_table_find(perf_map_symbols(r->perf_map), address))))
        open_perf_map(r, now_ns);
    if (!r->perf_map)
        return 0;
    t = perf_map_symbols(r->perf_map);
    s = symbol_table_find(t, address);
    if (!s && perf_map_refresh_missed(r->perf_map, now_ns)) {
        word_cache_clear(&r->pcs);
        s = symbol_table_find(t, address);
    }
    return s ? make_frame(r, symbol_text_id(r, t, s, /* mangled= */ false), 0, FRAME_NATIVE) : 0;
}

/* ---- the door ---- */

static const struct mapping *find_mapping(struct resolver *r, uint64_t address, uint64_t now_ns)
{
    const struct mapping *m = maps_find(&r->maps, address);

    if ((!m || !m->exec) && now_ns >= r->miss_ns) {
        read_maps(r, now_ns);
        m = maps_find(&r->maps, address);
    }
    return m && m->exec ? m : NULL;
}

uint64_t resolver_unanswered_ns(const struct resolver *r)
{
    return r->unanswered_ns;
}

uint64_t resolver_put_off_ns(const struct resolver *r)
{
    return r->put_off_ns;
}

bool resolver_met_reading(const struct resolver *r)
{
    return r->met_reading;
}

bool resolver_reads(struct resolver *r, uint64_t address, bool perf_map, uint64_t now_ns)
{
    uint64_t key = address | (perf_map ? 0 : RESOLVER_NO_MAP_BIT);
    const struct mapping *m;
    struct bound *b;

    if (word_cache_get(&r->pcs, key, &(uint32_t){ 0 }))
        return false;
    m = find_mapping(r, address, now_ns);
    if (!m || is_anonymous(m))
        return false;
    b = &r->bound[m - r->maps.entries];
    bind_file(r, m, b, now_ns);
    return b->state == BOUND_READING;
}

uint32_t resolver_native(struct resolver *r, uint64_t address, bool perf_map, uint64_t now_ns)
{
    uint64_t key = address | (perf_map ? 0 : RESOLVER_NO_MAP_BIT);
    const struct mapping *m;
    uint32_t frame = 0;

    if (word_cache_get(&r->pcs, key, &frame))
        return frame;
    m = find_mapping(r, address, now_ns);
    if (!m || (!perf_map && is_anonymous(m)))
        return 0;
    if (may_be_generated(m))
        frame = perf_map_frame(r, address, now_ns);
    if (!frame && !is_anonymous(m))
        frame = file_frame(r, m, address, now_ns);
    if (frame && !frame_table_get(r->env->frames, frame)->unknown)
        word_cache_put(&r->pcs, key, frame);
    else if (frame && r->bound[m - r->maps.entries].state == BOUND_FILE)
        word_cache_put(&r->pcs, address,
                       frame); /* the file has no name for it, and will not get one */
    return frame;
}

/* The number of the file of @b, which has been read. */
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

    if (!r->env->inlines || !m || !m->exec || is_anonymous(m))
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
        read_maps(r, now_ns);
    for (size_t i = 0; i < r->maps.count; i++) {
        const struct mapping *m = &r->maps.entries[i];

        if (!m->exec || is_anonymous(m) || r->bound[i].state != BOUND_NOT_YET)
            continue;
        bind_file(r, m, &r->bound[i], now_ns);
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
    word_cache_clear(&r->pcs);
    for (size_t i = 0; i < r->maps.count; i++)
        r->bound[i].module = 0;
    if (r->perf_map)
        symbol_table_forget_strings(perf_map_symbols(r->perf_map));
    r->java = java_names_free(r->java);
    r->threads = thread_names_free(r->threads);
    r->locks = lock_names_free(r->locks);
}

uint64_t resolver_java_methods(const struct resolver *r)
{
    return r->java ? java_names_methods(r->java) : 0;
}
