/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/kernel.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "base/u64_cache.h"
#include "symbolize/kallsyms.h"

#define KERNEL_AGAIN_MIN_NS (10 * NSEC_PER_SEC)
#define KERNEL_AGAIN_MAX_NS (640 * NSEC_PER_SEC)
#define KERNEL_MODULES_NS (600 * NSEC_PER_SEC) /* greatest age of a module's name */
#define KERNEL_CACHE_MAX (1u << 16)
#define KERNEL_OWNER 1 /* owner of the kernel's names in the namer's budgets */

struct kernel_names {
    const struct symbol_files *files;
    struct frame_table *frames;
    struct namer *namer;
    struct kallsyms list;
    struct u64_cache known; /* address -> frame */
    uint64_t again_ns, wait_ns;
    uint64_t modules_ns; /* when the names of modules are to be read again; 0: none was used */
    uint32_t unknown;    /* the frame without a name */
    char problem[ERROR_MSG_MAX + ERROR_REMEDY_MAX + 64];
};

/* Reads the list. Keeps the one before if it cannot be read. */
static void kernel_names_read(struct kernel_names *k)
{
    _cleanup_close_ int fd = -1;
    struct error err = ERROR_NULL;
    struct kallsyms list;
    int r = k->files->kallsyms(k->files->cookie, &fd, &err) ?: kallsyms_read(fd, &list, &err);

    if (r != 0) {
        snprintf(k->problem, sizeof(k->problem), "kernel frames have no names: %s%s%s",
                 err.msg[0] ? err.msg : "/proc/kallsyms cannot be read", err.remedy[0] ? "; " : "",
                 err.remedy);
        return;
    }
    k->problem[0] = '\0';
    k->modules_ns = 0;
    if (list.hidden)
        snprintf(k->problem, sizeof(k->problem),
                 "kernel frames have no names: the kernel hides its addresses in /proc/kallsyms; "
                 "give flamed-broker CAP_SYSLOG and set kernel.kptr_restrict to 1 or 0");
    kallsyms_deinit(&k->list);
    k->list = list;
    u64_cache_clear(&k->known);
}

int kernel_names_new(const struct symbol_files *files, struct frame_table *frames,
                     struct namer *namer, struct kernel_names **ret)
{
    struct kernel_names *k = calloc(1, sizeof(*k));

    if (!k)
        return -ENOMEM;
    k->files = files;
    k->namer = namer;
    k->wait_ns = KERNEL_AGAIN_MIN_NS;
    u64_cache_init(&k->known, KERNEL_CACHE_MAX);
    kernel_names_use_table(k, frames);
    kernel_names_read(k);
    *ret = k;
    return 0;
}

struct kernel_names *kernel_names_free(struct kernel_names *k)
{
    if (!k)
        return NULL;
    kallsyms_deinit(&k->list);
    u64_cache_deinit(&k->known);
    free(k);
    return NULL;
}

void kernel_names_use_table(struct kernel_names *k, struct frame_table *frames)
{
    struct frame unknown = { .kind = FRAME_KERNEL, .unknown = 1 };

    k->frames = frames;
    u64_cache_clear(&k->known);
    frame_table_frame(frames, &unknown, &k->unknown);
}

const char *kernel_names_problem(const struct kernel_names *k)
{
    return k->problem;
}

/* Makes the frame of "nf_hook_slow\t[nf_tables]": the module follows the name. *ret_lasting: the
 * frame may be cached. */
static uint32_t kernel_names_make(struct kernel_names *k, struct span symbol, bool *ret_lasting)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(SYMBOL_NAME_MAX + TEXT_NAME_MAX);
    struct span name, module = SPAN("[kernel]");
    struct module m = { 0 };
    struct function f = { 0 };
    struct frame frame = { .kind = FRAME_KERNEL };
    uint32_t id = 0;
    int named;

    *ret_lasting = true;
    if (!span_take_word(&symbol, &name))
        return k->unknown;
    if (span_trim(symbol).n)
        module = span_trim(symbol);
    named = namer_name(k->namer, KERNEL_OWNER, name, &text);
    *ret_lasting = named == 0;
    if (named == NAMER_COMING)
        buf_add_span(&text, name);
    f.name = frame_table_clean(k->frames, buf_span(&text), TEXT_UTF8);
    m.path = frame_table_clean(k->frames, module, TEXT_UTF8);
    frame_table_module(k->frames, &m, &f.module);
    frame_table_function(k->frames, &f, &frame.function);
    frame.unknown = !frame.function;
    frame_table_frame(k->frames, &frame, &id);
    return id;
}

static bool is_of_module(struct kernel_names *k, const struct symbol *s)
{
    struct span text = symbol_name(&k->list.symbols, s), name;

    return span_take_word(&text, &name) && span_trim(text).n;
}

/* Reads the list again if names of modules are too old. */
static void kernel_names_renew(struct kernel_names *k, uint64_t now_ns)
{
    if (!k->modules_ns || now_ns < k->modules_ns)
        return;
    k->modules_ns = now_ns + KERNEL_MODULES_NS;
    kernel_names_read(k);
}

static const struct symbol *kernel_names_find(struct kernel_names *k, uint64_t address,
                                              uint64_t now_ns)
{
    const struct symbol *s = symbol_table_find(&k->list.symbols, address);

    if (s && !k->modules_ns && is_of_module(k, s))
        k->modules_ns = now_ns + KERNEL_MODULES_NS;
    if (s || now_ns < k->again_ns)
        return s;
    if (k->again_ns) {
        kernel_names_read(k);
        s = symbol_table_find(&k->list.symbols, address);
        k->wait_ns = s ? KERNEL_AGAIN_MIN_NS : MIN(k->wait_ns * 2, KERNEL_AGAIN_MAX_NS);
    }
    k->again_ns = now_ns + k->wait_ns;
    return s;
}

uint32_t kernel_names_frame(struct kernel_names *k, uint64_t address, uint64_t now_ns)
{
    const struct symbol *s;
    uint32_t frame;
    bool lasting;

    kernel_names_renew(k, now_ns);
    if (u64_cache_get(&k->known, address, &frame))
        return frame;
    s = kernel_names_find(k, address, now_ns);
    if (!s)
        return k->unknown; /* not cached, because a name may be found later */
    frame = kernel_names_make(k, symbol_name(&k->list.symbols, s), &lasting);
    if (lasting)
        u64_cache_put(&k->known, address, frame);
    return frame;
}

bool kernel_names_reads(struct kernel_names *k, uint64_t address, uint64_t now_ns)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(SYMBOL_NAME_MAX + TEXT_NAME_MAX);
    const struct symbol *s = NULL;
    struct span symbol, name;

    if (!u64_cache_get(&k->known, address, &(uint32_t){ 0 }))
        s = kernel_names_find(k, address, now_ns);
    if (!s)
        return false;
    symbol = symbol_name(&k->list.symbols, s);
    return span_take_word(&symbol, &name) &&
           namer_name(k->namer, KERNEL_OWNER, name, &text) == NAMER_COMING;
}
