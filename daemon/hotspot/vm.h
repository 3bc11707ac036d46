/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of hotspot/: the opened JVM, and what the files of this folder share. An internal function
 * returns 0 (or a documented count). -EFAULT: the target's memory does not hold it. -EBADMSG: it
 * holds nonsense. -ESRCH: the process is gone. The door turns these into its outcomes.
 */
#pragma once

#include "hotspot/counters.h"
#include "hotspot/hotspot.h"
#include "hotspot/layout.h"
#include "hotspot/memory.h"
#include "hotspot/stubs.h"

#include <stdatomic.h>
#include <stddef.h>

#define CODE_HEAPS_MAX 8 /* HotSpot has one to four */
#define CODE_HEAP_BYTES_MAX ((uint64_t)4 << 30)
#define CODE_HOPS_MAX 96        /* steps in the segment map; 35 were seen in a live JDK 25 */
#define CODE_CHECKS 64          /* of a moment; a lost one is made again */
#define CODELETS_MAX 2048       /* of the interpreter; about 270 exist */
#define NMETHOD_HEADER_MAX 1024 /* sizeof(nmethod) is 224..376 */
#define NMETHOD_DATA_MAX ((uint32_t)64 << 20)

struct code_heap {
    uint64_t at;        /* its CodeHeap */
    uint64_t low, high; /* reserved range: never changes */
    uint64_t segmap;    /* one byte per segment */
    unsigned log2_segment;
};

/* A piece of the interpreter: the code of one bytecode or one entry. */
struct codelet {
    uint64_t start, end;
    char name[STUBS_NAME_MAX];
};

/* What an object's class word has to be shifted by where it is in the mark (JDK 24 up). */
#define KLASS_COMPACT_SHIFT 42

/* Where the fields of java.lang.Thread and String that make a thread's name lie. */
struct name_layout {
    bool known, unusable;
    bool compressed_oops, compressed_klass, compact_headers, coloured_oops;
    uint64_t oop_base, klass_base;
    uint32_t oop_shift, klass_shift;
    uint64_t string_klass;
    uint32_t thread_name, string_value, string_coder; /* bytes into the object; coder 0: JDK 8 */
};

/* Code that was still there after all that was read of it. */
struct code_check {
    uint64_t epoch; /* of the memory: 0 none */
    uint64_t blob;
    int32_t compile_id;
};

/* What hotspot_vm_areas() need not read again. */
struct kept_areas {
    bool class_space_known;
    uint64_t class_space;       /* bytes; 0: none */
    uint64_t classes;           /* the caller's number, of the time of */
    struct vm_range *metaspace; /* owned; NULL: not known */
    size_t metaspace_count;
};

struct hotspot_vm {
    int mem_fd;        /* borrowed; of */
    struct proc_id id; /* this process; both unused with another reader of memory */
    atomic_int users;  /* holders, and a call that is under way or abandoned */
    struct hotspot_memory memory;
    struct hotspot_layout layout;
    char version[128], name[128];
    struct code_heap heaps[CODE_HEAPS_MAX];
    size_t heap_count;
    uint64_t code_low, code_high; /* around all heaps */
    uint64_t interpreter_start, interpreter_end;
    uint64_t call_stub_return;             /* return pc of entry frames */
    struct code_check checks[CODE_CHECKS]; /* of this moment, by their address */
    struct codelet *codelets;              /* owned; sorted; NULL until asked for */
    size_t codelet_count;
    uint64_t nmethod_name, native_name; /* CodeBlob::_name seen to point to these, 0 not yet */
    struct name_layout names;
    struct unwind_locks locks; /* klass_bytes 0: not known */
    bool locks_unusable;
    struct stubs stubs;
    struct kept_areas kept_areas;
    struct counters_places counters_places;
};

/* As hotspot_vm_open() with any reader of memory (tests, fuzzer). Borrows @cookie. */
int hotspot_vm_open_memory(memory_read_fn read, void *cookie, uint64_t libjvm_base,
                           struct hotspot_vm **ret, struct error *err);

/* "This JVM is not for us", with the sentence. */
#define hotspot_refuse(err, ...)                                                                   \
    (error_set((err), -EOPNOTSUPP, __VA_ARGS__), (int)HOTSPOT_UNSUPPORTED)

/* ---- call.c ---- */

typedef int (*vm_call_fn)(struct hotspot_vm *vm, void *arg);
/* Returns the result of @fn(@vm, @arg), made as one reading of the process. It gets a copy of the
 * @n bytes of @arg, which comes back: it must use nothing else of the caller's. -ETIMEDOUT: not
 * made, or not back in time. */
int vm_call(struct hotspot_vm *vm, vm_call_fn fn, void *arg, size_t n);
/* Does the same, answered at once where the memory of this moment was read already. So @fn is
 * called first with nothing to read: what it changes but @arg has to hold then, too. */
int vm_ask(struct hotspot_vm *vm, vm_call_fn fn, void *arg, size_t n);
/* Returns whether nothing is to be read now, as kept memory alone is to answer: then it has not
 * answered. For what must not be done by halves. */
bool vm_reads_nothing(struct hotspot_vm *vm);
/* Returns whether a call is still out, so that nothing of @vm may be used that it could change. */
bool vm_is_left(const struct hotspot_vm *vm);
/* Frees @vm with its last user. */
void vm_unref(struct hotspot_vm *vm);

/* ---- codecache.c ---- */

/* Reads bounds of heaps and interpreter. 0; HOTSPOT_NOT_READY; -errno. */
int codecache_open(struct hotspot_vm *vm);
/* Gets the used block that holds @pc: its CodeBlob and the first address behind the block. 0;
 * -ENOENT.
 */
int codecache_block(struct hotspot_vm *vm, uint64_t pc, uint64_t *ret_blob, uint64_t *ret_end);
/* Reads the header of the block at @block of @h. Return: 0 and *ret_end (first address behind it),
 * *ret_used; -EBADMSG; -errno. */
int codecache_header(struct hotspot_vm *vm, const struct code_heap *h, uint64_t block,
                     uint64_t *ret_end, bool *ret_used);

/* Gets what all code heaps have of memory: committed now, and at most. Bytes. 0 or -errno. */
int codecache_bytes(struct hotspot_vm *vm, uint64_t *ret_committed, uint64_t *ret_max);

/* ---- nmethod.c ---- */

/* A CodeBlob, and of an nmethod what naming needs. Addresses are checked to lie where they must. */
struct blob {
    uint64_t address, end;         /* of the whole blob */
    uint64_t code_begin, code_end; /* instructions */
    uint64_t name;                 /* address of a C string */
    enum hotspot_code_kind kind;   /* COMPILED, NATIVE or STUB */
    int32_t frame_size;            /* words, <= 0: none */
    int32_t frame_complete;        /* bytes into the code, < 0: never */
    /* nmethods only: */
    uint64_t method;
    int32_t compile_id;
    int32_t level, state, entry_bci;
    int32_t orig_pc_offset; /* bytes from sp */
    uint64_t deopt_handler, verified_entry;
    uint64_t scopes_data, scopes_data_end, scopes_pcs, scopes_pcs_end, metadata, metadata_end;
};

/* Reads the blob at @address that ends at or before @end. 0 or -errno. */
int blob_read(struct hotspot_vm *vm, uint64_t address, uint64_t end, struct blob *ret);
/* Returns whether the nmethod's code may still run or be asked for (not freed, zombie or unloaded).
 */
bool nmethod_is_alive(const struct hotspot_vm *vm, const struct blob *b);

/* Calls @fn for each used block of each code heap, or of the first @max of a heap, until it returns
 * non-zero, which is returned. 0; -ESRCH; -errno. (codecache.c) */
typedef int (*codecache_block_fn)(void *cookie, struct hotspot_vm *vm, uint64_t blob, uint64_t end);
int codecache_blocks(struct hotspot_vm *vm, size_t max, codecache_block_fn fn, void *cookie);

/* ---- code.c ---- */

/* Has vm->codelets filled in. 0 or -errno. */
int codelets_read(struct hotspot_vm *vm);

/* Gets the code in the blob at @blob that ends at or before @end. @live: -ENOENT for nmethods that
 * are dead or not installed. 0 or -errno. */
int code_read(struct hotspot_vm *vm, uint64_t blob, uint64_t end, bool live,
              struct hotspot_code *ret);

/* Checks whether @code is still what it was when it was found. In a moment the answer is of this
 * moment. 1; 0; -errno. */
int code_still(struct hotspot_vm *vm, const struct hotspot_code *code);
/* Has what hotspot_code_find() needs of @pc and hotspot_code_locate() of its code read now, for
 * this moment. */
void code_keep(struct hotspot_vm *vm, uint64_t pc, bool is_return_address);
/* Does the second half of that. */
void location_keep(struct hotspot_vm *vm, const struct hotspot_code *code, uint64_t pc,
                   bool is_return_address);

/* ---- unsigned5.c ---- */

/* Takes a number; bytes below @excluded do not occur. False (and *s as it was) when cut or broken.
 */
bool unsigned5_take(struct span *s, unsigned excluded, uint32_t *ret);
/* Takes a zig-zag coded one. */
bool unsigned5_take_signed(struct span *s, unsigned excluded, int32_t *ret);
/* Bytes that the coding leaves out: 1 (the NUL) since JDK 20, else 0. */
static inline unsigned unsigned5_excluded(const struct hotspot_vm *vm)
{
    return vm->layout.jdk >= 20 ? 1 : 0;
}

/* ---- method.c ---- */

/* Has what the names and the line of @bci are made of read now, for this moment. */
void method_keep(struct hotspot_vm *vm, uint64_t method, int32_t bci);
/* Does the same of an interpreted method at bytecode address @bcp (0: at its entry). */
void method_keep_at(struct hotspot_vm *vm, uint64_t method, uint64_t bcp);
/* Gets the bytes of the Symbol at @symbol, cut to @max. 0 or -errno. */
int symbol_read(struct hotspot_vm *vm, uint64_t symbol, char *buf, size_t max, uint16_t *ret_n);
/* Returns the line of bci @wanted in a compressed line table. 0: unknown. Pure. */
uint32_t lines_find(struct span table, unsigned excluded, int32_t wanted);
/* Gets the Symbol at @index of the ConstantPool at @pool. 0 or -errno. */
int pool_symbol(struct hotspot_vm *vm, uint64_t pool, uint32_t index, uint64_t *ret);

/* ---- fields.c ---- */

/* Gets the offset of instance field @name of the InstanceKlass at @klass. 0; -ENOENT; -errno. */
int field_offset(struct hotspot_vm *vm, uint64_t klass, const char *name, uint32_t *ret);

/* ---- threads.c ---- */

typedef int (*threads_visit_fn)(void *cookie, uint64_t java_thread);
/* Calls @fn with the JavaThread of each thread in the VM's list, until it returns non-zero, which
 * is returned. 0: all of them, or those before the list was replaced; -ESRCH; -errno. */
int threads_visit(struct hotspot_vm *vm, threads_visit_fn fn, void *cookie);

/* ---- threadname.c ---- */

/* Appends the name of the java.lang.Thread behind JavaThread @thread as modified UTF-8. 0; -ENOENT
 * when it has none or the heap moved under us; -errno. */
int thread_name_read(struct hotspot_vm *vm, uint64_t thread, struct buf *ret);
/* Has vm->names filled in. 0; -ENOENT: never; -EAGAIN, -ESRCH or another -errno: not now. */
int names_ready(struct hotspot_vm *vm);
/* Returns the address of an object that a coloured reference of generational ZGC leads to. */
uint64_t oop_uncolour(uint64_t raw);
