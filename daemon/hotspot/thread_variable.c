/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds a thread-local variable without private data of a C library. The code of an object reads
 * the place of its variables from slots, and the dynamic linker has filled these slots. The
 * object's relocations lead to the slots.
 */
#include "hotspot/thread_variable.h"

#include "hotspot/dynsym.h"
#include "hotspot/vm.h"

#include <elf.h>

#define NAME "otel_thread_ctx_v1"
#define RELOCATIONS_MAX 65536 /* relocations of an object that are read */
#define RELOCATIONS_AT_ONCE 128
#define MODULES_MAX 4096
#define FROM_POINTER_MAX ((int64_t)1 << 30) /* distance of a static variable */
/* aarch64: the greatest distance in a descriptor; a larger value is an address. On x86-64 a
 * distance is negative. */
#define BEHIND_POINTER_MAX ((uint64_t)1 << 20)

/* Types of the relocations, for each processor. */
struct kinds {
    uint32_t module, from_pointer, descriptor;
};
static const struct kinds X86_64 = { R_X86_64_DTPMOD64, R_X86_64_TPOFF64, R_X86_64_TLSDESC };
static const struct kinds AARCH64 = { R_AARCH64_TLS_DTPMOD, R_AARCH64_TLS_TPREL,
                                      R_AARCH64_TLSDESC };

struct search {
    const struct dynsym *d;
    const struct kinds *kinds;
    uint32_t index;  /* index of the symbol */
    uint64_t offset; /* offset in its module */
    uint8_t words;   /* as in struct thread_variable */
    struct thread_variable *ret;
};

struct question {
    struct thread_variable_objects objects;
    struct thread_variable found;
};

static bool is_module(uint64_t module)
{
    return module >= 1 && module <= MODULES_MAX;
}

static int use_module(const struct search *s, uint64_t module, uint64_t offset)
{
    if (!is_module(module) || offset >= (uint64_t)FROM_POINTER_MAX)
        return -EAGAIN; /* not relocated yet */
    if (!s->words)
        return -EOPNOTSUPP;
    *s->ret = (struct thread_variable){ offset, (uint32_t)module, s->words };
    return 0;
}

static int use_distance(const struct search *s, uint64_t distance)
{
    int64_t d = (int64_t)distance;

    if (!d || d <= -FROM_POINTER_MAX || d >= FROM_POINTER_MAX)
        return -EAGAIN;
    *s->ret = (struct thread_variable){ .offset = distance };
    return 0;
}

/* Reads the argument of a descriptor's function: a distance from the thread pointer, or the address
 * of the module's number and the offset. */
static int use_descriptor(const struct search *s, uint64_t slot)
{
    uint64_t argument = 0, module = 0, offset = 0;
    int r = memory_u64(s->d->m, slot + 8, &argument);

    if (r < 0)
        return r;
    if (s->d->aarch64 ? argument < BEHIND_POINTER_MAX : (int64_t)argument < 0)
        return use_distance(s, argument);
    r = memory_u64(s->d->m, argument, &module) ?: memory_u64(s->d->m, argument + 8, &offset);
    return r < 0 ? r : use_module(s, module, offset);
}

/* Uses one relocation, if it is of the variable. The linker may have bound it without a symbol.
 * Return: 0; -ENOENT: the relocation is of another variable; -errno. */
static int use(const struct search *s, const Elf64_Rela *rela)
{
    const struct dynsym *d = s->d;
    uint32_t kind = (uint32_t)ELF64_R_TYPE(rela->r_info),
             symbol = (uint32_t)ELF64_R_SYM(rela->r_info);
    bool unnamed = !symbol && (uint64_t)rela->r_addend == s->offset;
    uint64_t slot = d->bias + rela->r_offset, word = 0;
    int r;

    if (symbol != s->index && symbol)
        return -ENOENT;
    if (slot < d->data_start || slot > d->data_end || d->data_end - slot < 16)
        return -ENOENT;
    if (kind == s->kinds->module) { /* the module of all variables of the object */
        r = memory_u64(d->m, slot, &word);
        return r < 0 ? r : use_module(s, word, s->offset);
    }
    if (!symbol && !unnamed)
        return -ENOENT;
    if (kind == s->kinds->from_pointer) {
        r = memory_u64(d->m, slot, &word);
        return r < 0 ? r : use_distance(s, word);
    }
    return kind == s->kinds->descriptor ? use_descriptor(s, slot) : -ENOENT;
}

/* Tries the relocations in @range from number @first on. Return: 0; -ENOENT: none is of the
 * variable; -errno. */
static int try_range(const struct search *s, struct dynsym_range range, uint64_t first)
{
    Elf64_Rela some[RELOCATIONS_AT_ONCE];
    uint64_t count = MIN(range.bytes / sizeof(*some), first + RELOCATIONS_MAX);

    if (!range.at || range.at < s->d->start || range.at > s->d->end ||
        range.bytes > s->d->end - range.at)
        return -ENOENT;
    for (uint64_t i = first; i < count; i += ARRAY_SIZE(some)) {
        size_t n = MIN(ARRAY_SIZE(some), (size_t)(count - i));
        int r = memory_read(s->d->m, range.at + i * sizeof(*some), some, n * sizeof(*some));

        if (r < 0)
            return r;
        for (size_t k = 0; k < n; k++) {
            r = use(s, &some[k]);
            if (r != -ENOENT)
                return r;
        }
    }
    return -ENOENT;
}

/* Uses the distance that the linker has written into the code of a program (x86-64). */
static int use_program(const struct search *s)
{
    const struct dynsym_tls *t = &s->d->tls;
    uint64_t align = t->align ? t->align : 1;

    if (!s->d->has_interpreter || s->d->aarch64 || align & (align - 1) ||
        align > (uint64_t)FROM_POINTER_MAX || t->bytes > (uint64_t)FROM_POINTER_MAX)
        return -EOPNOTSUPP;
    return use_distance(s, s->offset - t->bytes - ((-t->address - t->bytes) & (align - 1)));
}

/* Searches the object at @base. Return: 0; -ENOENT: the object exports no such variable; -errno. */
static int try_object(struct hotspot_vm *vm, bool musl, uint64_t base, struct thread_variable *ret)
{
    struct error err = ERROR_NULL;
    struct dynsym d;
    struct search s = { .d = &d, .ret = ret };
    int r = dynsym_open(&vm->memory, base, &d, &err);

    if (r == 0)
        r = dynsym_find_tls(&d, NAME, &s.index, &s.offset);
    if (r < 0)
        return r == -ESRCH ? r : -ENOENT;
    s.kinds = d.aarch64 ? &AARCH64 : &X86_64;
    s.words = !musl ? UNWIND_DTV_BYTES / 8 : d.aarch64 ? 0 : 1;
    r = try_range(&s, d.rela, MIN(d.relative, d.rela.bytes / sizeof(Elf64_Rela)));
    if (r == -ENOENT)
        r = try_range(&s, d.jmprel, 0);
    return r == -ENOENT ? use_program(&s) : r;
}

int thread_variable_find(struct hotspot_vm *vm, const struct thread_variable_objects *objects,
                         struct thread_variable *ret)
{
    int r = -ENOENT;

    memory_begin(&vm->memory);
    for (uint32_t i = 0; i < objects->count && r == -ENOENT; i++)
        r = try_object(vm, objects->musl, objects->bases[i], ret);
    return r;
}

static int run(struct hotspot_vm *vm, void *arg)
{
    struct question *q = arg;

    return thread_variable_find(vm, &q->objects, &q->found);
}

int hotspot_vm_thread_variable(struct hotspot_vm *vm, const struct thread_variable_objects *objects,
                               struct thread_variable *ret)
{
    _cleanup_free_ struct question *q = calloc(1, sizeof(*q));
    int r;

    if (!q)
        return -ENOMEM;
    if (vm_is_left(vm))
        return -EAGAIN;
    q->objects = *objects;
    r = vm_call(vm, run, q, sizeof(*q));
    if (r == 0)
        *ret = q->found;
    if (r == -ESRCH)
        return HOTSPOT_GONE;
    return r == -EFAULT || r == -ETIMEDOUT || r == -EBADMSG ? -EAGAIN : r;
}

struct thread_record *hotspot_vm_record(struct hotspot_vm *vm)
{
    return &vm->tracer.record;
}

void thread_record_path(const struct thread_record *record, struct context_path *ret)
{
    const struct thread_variable *v = &record->variable;
    struct context_path p = {
        .step_count = 2,
        .ids = CONTEXT_IDS_RECORD,
        .steps = { { .op = CONTEXT_VARIABLE,
                     .from = v->words,
                     .offset = v->module,
                     .key = v->offset },
                   { .op = CONTEXT_RECORD } },
    };

    for (uint32_t i = 0; i < MIN(record->text_count, (uint32_t)THREAD_RECORD_TEXTS_MAX); i++)
        p.steps[p.step_count++] = (struct context_step){ .op = CONTEXT_ATTRIBUTE,
                                                         .offset = record->texts[i].text,
                                                         .key = record->texts[i].index };
    *ret = p;
}
