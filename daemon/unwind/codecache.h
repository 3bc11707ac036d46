/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * HotSpot's code cache: finds the block at a pc, and tests whether a word can be a return address
 * into the cache.
 */
#pragma once

#include "unwind/native.h"

#define UNWIND_PROBE_MAX 16
#define UNWIND_STUB_WORDS_MAX 160 /* most stack words that a stub takes */

/* The first eight characters of a CodeBlob's name, as a little endian number. */
#define UNWIND_NAME(a, b, c, d, e, f, g, h)                                                        \
    ((uint64_t)(a) | (uint64_t)(b) << 8 | (uint64_t)(c) << 16 | (uint64_t)(d) << 24 |              \
     (uint64_t)(e) << 32 | (uint64_t)(f) << 40 | (uint64_t)(g) << 48 | (uint64_t)(h) << 56)

/* Returns whether @pc lies in the VM's code cache. */
UNWIND_INLINE bool unwind_in_code_cache(const struct unwind_process *p, uint64_t pc)
{
    return pc >= p->vm.code_low && pc < p->vm.code_high;
}

/* Returns whether @pc lies in the interpreter's code. */
UNWIND_INLINE bool unwind_in_interpreter(const struct unwind_process *p, uint64_t pc)
{
    return pc >= p->vm.interpreter_low && pc < p->vm.interpreter_high;
}

/* Finds the live block that holds @pc and sets w->blob, w->blob_code and w->blob_name. Returns 1 if
 * there is one, else 0. */
UNWIND_FUNCTION int unwind_find_blob(struct unwind_walk *w, struct unwind_process *p, uint64_t pc)
{
    struct unwind_find *f;
    uint64_t low = 0, segmap = 0, seg, block;
    uint32_t shift = 0, i;

    if (!w || !p)
        return 0;
    for (i = 0; i < UNWIND_HEAPS_MAX; i++) {
        if (pc >= p->vm.heaps[i].low && pc < p->vm.heaps[i].high) {
            low = p->vm.heaps[i].low;
            segmap = p->vm.heaps[i].segmap;
            shift = p->vm.heaps[i].shift & 31;
        }
    }
    if (!segmap)
        return 0;
    f = &w->find;
    f->tag = 0xff;
    seg = (pc - low) >> shift;
    for (i = 0; i < UNWIND_HOPS_MAX; i++) {
        if (!unwind_read(w, &f->tag, 1, segmap + seg) || f->tag == 0xff || f->tag > seg)
            return 0;
        if (f->tag == 0)
            break;
        seg -= f->tag;
    }
    if (f->tag != 0)
        return 0;
    block = low + (seg << shift);
    if (!unwind_read(w, &f->tag, 1, block + p->vm.block_used) || f->tag == 0)
        return 0;
    w->blob = block + p->vm.block_header_bytes;
    if (p->vm.blob_code_pointer) {
        if (!unwind_read_u64(w, w->blob + p->vm.blob_code, &w->blob_code))
            return 0;
    } else {
        if (!unwind_read(w, &f->relative, 4, w->blob + p->vm.blob_code))
            return 0;
        w->blob_code = w->blob + (uint64_t)(int64_t)f->relative;
    }
    w->blob_name = 0;
    if (!unwind_read_u64(w, w->blob + p->vm.blob_name, &f->name) || !f->name)
        return 0;
    /* A name that is not known may be shorter than a word and end at the end of its page. */
    if (!unwind_read_u64(w, f->name, &w->blob_name))
        w->blob_name = 0;
    return 1;
}

/* Returns whether a blob named @name is compiled Java code. */
UNWIND_INLINE bool unwind_is_nmethod(uint64_t name)
{
    return name == UNWIND_NAME('n', 'm', 'e', 't', 'h', 'o', 'd', 0) ||
           name == UNWIND_NAME('n', 'a', 't', 'i', 'v', 'e', ' ', 'n');
}

/* Returns whether @pc is a deoptimization handler of the nmethod w->blob. HotSpot replaces the
 * return address into a deoptimized frame by it. */
UNWIND_INLINE bool unwind_is_deopt(struct unwind_walk *w, const struct unwind_process *p,
                                   uint64_t pc)
{
    uint64_t handler;
    int32_t relative;

    if (p->vm.deopt_pointer) {
        if (unwind_read_u64(w, w->blob + p->vm.nmethod_deopt, &handler) && handler == pc)
            return true;
        return p->vm.nmethod_deopt_mh &&
               unwind_read_u64(w, w->blob + p->vm.nmethod_deopt_mh, &handler) && handler == pc;
    }
    if (unwind_read(w, &relative, 4, w->blob + p->vm.nmethod_deopt) &&
        w->blob + (uint64_t)(int64_t)relative == pc)
        return true;
    return p->vm.nmethod_deopt_mh &&
           unwind_read(w, &relative, 4, w->blob + p->vm.nmethod_deopt_mh) && relative > 0 &&
           w->blob + (uint64_t)(int64_t)relative == pc;
}

/* Returns 1 if @ra is in the code cache and can be a return address. It may be anywhere in the
 * interpreter, which reaches its return entries by jumps, or behind a call. It may also be the
 * deoptimization handler of its nmethod or the virtual threads' return barrier. */
UNWIND_FUNCTION int unwind_java_return(struct unwind_walk *w, struct unwind_process *p, uint64_t ra)
{
    uint64_t before;

    if (!w || !p || !unwind_in_code_cache(p, ra))
        return 0;
    if (unwind_in_interpreter(p, ra))
        return 1;
    if (!unwind_read_u64(w, ra - 8, &before))
        return 0;
    if (unwind_after_call(before))
        return 1;
    if (!unwind_find_blob(w, p, ra))
        return 0;
    if (unwind_is_nmethod(w->blob_name))
        return unwind_is_deopt(w, p, ra) ? 1 : 0;
    /* Only jumps reach the return barrier: any address in the stubs around it is accepted. */
    return p->vm.virtual_threads &&
                   w->blob_name == UNWIND_NAME('S', 't', 'u', 'b', 'R', 'o', 'u', 't')
               ? 1
               : 0;
}

/* Returns 1 if @ra can be a return address into Java or native code, else 0. */
UNWIND_FUNCTION int unwind_any_return(struct unwind_walk *w, struct unwind_process *p, uint64_t ra)
{
    if (!w || !p)
        return 0;
    if (unwind_in_code_cache(p, ra))
        return unwind_java_return(w, p, ra);
    return unwind_find_mapping(w, p, ra) > 0 ? 1 : 0;
}

/* Returns whether the stack word at @addr is a return address into Java code (with @native: into
 * any code). */
UNWIND_INLINE bool unwind_returns_at(struct unwind_walk *w, struct unwind_process *p, uint64_t addr,
                                     bool native)
{
    uint64_t ra;

    if (!unwind_stack(w, addr, &ra))
        return false;
    ra = unwind_unsigned(ra);
    return (native ? unwind_any_return(w, p, ra) : unwind_java_return(w, p, ra)) > 0;
}

/* Returns the index + 1 of the first of @words words from @addr on that is a return address into
 * Java code; 0: none. At most UNWIND_PROBE_MAX words are read. */
UNWIND_FUNCTION int unwind_probe(struct unwind_walk *w, struct unwind_process *p, uint64_t addr,
                                 uint32_t words)
{
    uint32_t i;

    if (!w || !p)
        return 0;
    for (i = 0; i < UNWIND_PROBE_MAX && i < words; i++) {
        if (unwind_returns_at(w, p, addr + 8 * i, false))
            return (int)i + 1;
    }
    return 0;
}
