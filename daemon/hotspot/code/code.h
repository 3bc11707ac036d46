/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal to hotspot/: the code cache, the code in it, and the names of that code. The functions
 * return results as hotspot/vm.h describes.
 */
#pragma once

#include "hotspot/vm.h"

/* ---- codecache.c ---- */

/* Reads the bounds of the code heaps and of the interpreter. Returns 0, HOTSPOT_NOT_READY or
 * -errno. */
int codecache_open(struct hotspot_vm *vm);
/* Gets the used block that holds @pc: its CodeBlob and the first address behind the block. Returns
 * 0, -ENOENT or -errno. */
int codecache_block(struct hotspot_vm *vm, uint64_t pc, uint64_t *ret_blob, uint64_t *ret_end);
/* Gets the start of the block of heap @h, used or free, that holds @pc. Return: 0; -ENOENT: no
 * block was ever there, or it was the last; -errno. */
int codecache_start(struct hotspot_vm *vm, const struct code_heap *h, uint64_t pc,
                    uint64_t *ret_block);
/* Reads the header of block @block of heap @h. Return: 0 with *ret_end (the first address behind
 * the block) and *ret_used; -EBADMSG; -errno. */
int codecache_header(struct hotspot_vm *vm, const struct code_heap *h, uint64_t block,
                     uint64_t *ret_end, bool *ret_used);

/* Gets the bytes of all code heaps together: committed now, and reserved. Returns 0 or -errno. */
int codecache_bytes(struct hotspot_vm *vm, uint64_t *ret_committed, uint64_t *ret_max);

/* ---- nmethod.c ---- */

/* A CodeBlob. If it is an nmethod, also the fields that naming needs. All addresses lie within
 * their bounds. */
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
    /* Tables of exceptions. Each ends where another one begins, or with the memory that holds both;
     * 0: none. */
    uint64_t handlers, handlers_end, implicit, implicit_end;
    uint64_t constants; /* address where the code's constants may begin; they end at code_begin */
};

/* Reads the blob at @address that ends at or before @end. Returns 0 or -errno. */
int blob_read(struct hotspot_vm *vm, uint64_t address, uint64_t end, struct blob *ret);
/* Returns whether the nmethod's code may still run or be called (not freed, zombie or unloaded). */
bool nmethod_is_alive(const struct hotspot_vm *vm, const struct blob *b);

/* Calls @fn for each used block of each code heap, at most @max of a heap. Stops when @fn returns
 * non-zero, and returns that. 0; -ESRCH; -errno. (codecache.c) */
typedef int (*codecache_block_fn)(void *cookie, struct hotspot_vm *vm, uint64_t blob, uint64_t end);
int codecache_blocks(struct hotspot_vm *vm, size_t max, codecache_block_fn fn, void *cookie);

/* ---- code.c ---- */

/* Fills in vm->code.codelets, once. Return: 0; -errno: a read failed, so the next call tries
 * again. */
int codelets_read(struct hotspot_vm *vm);

/* Gets the code in the blob at @blob that ends at or before @end. With @live, a dead or not yet
 * installed nmethod gives -ENOENT. Returns 0 or -errno. */
int code_read(struct hotspot_vm *vm, uint64_t blob, uint64_t end, bool live,
              struct hotspot_code *ret);

/* Checks whether @code is still in place. Inside a moment, a check that was made in this moment is
 * not repeated. Returns 1, 0 or -errno. */
int code_still(struct hotspot_vm *vm, const struct hotspot_code *code);
/* Does the work of hotspot_code_find() inside a running reading. */
int code_find(struct hotspot_vm *vm, uint64_t pc, struct hotspot_code *ret);

/* ---- locate.c ---- */

/* Reads into the cache of this moment the memory that hotspot_code_locate() needs for @pc in
 * @code. */
void location_keep(struct hotspot_vm *vm, const struct hotspot_code *code, uint64_t pc,
                   bool is_return_address);

/* ---- unsigned5.c ---- */

/* Takes a number from @s; bytes below @excluded are invalid. If the number is cut or broken,
 * returns false and leaves *s unchanged. */
bool unsigned5_take(struct span *s, unsigned excluded, uint32_t *ret);
/* Takes a zig-zag coded number in the same way. */
bool unsigned5_take_signed(struct span *s, unsigned excluded, int32_t *ret);
/* Returns the lowest valid byte of the coding: 1 (no NUL) since JDK 20, else 0. */
static inline unsigned unsigned5_excluded(const struct hotspot_vm *vm)
{
    return vm->layout.jdk >= 20 ? 1 : 0;
}

/* ---- method.c ---- */

/* Reads into the cache of this moment the memory for the method's names and the line of @bci. */
void method_keep(struct hotspot_vm *vm, uint64_t method, int32_t bci);
/* Does the same for an interpreted method at the bytecode address @bcp. @bcp 0: the method's
 * entry. */
void method_keep_at(struct hotspot_vm *vm, uint64_t method, uint64_t bcp);
/* Reads the bytecodes of @method, at most @max bytes. Returns their number, -E2BIG if there are
 * more, or -errno. */
ssize_t method_bytecodes(struct hotspot_vm *vm, uint64_t method, void *ret, size_t max);
/* Gets the offset of the field that operand @index in @method's bytecodes refers to. Returns 0,
 * -ENOENT or -errno. */
int method_field(struct hotspot_vm *vm, uint64_t method, uint16_t index, uint32_t *ret);
/* Gets the eight bytes of entry @index in @method's constant pool. Returns 0, -ENOENT or -errno. */
int method_constant(struct hotspot_vm *vm, uint64_t method, uint16_t index, uint64_t *ret);
/* Finds the only method that bytecode @opcode of @method can call by its operand @index. Return: 0;
 * -ENOENT: several methods are possible, or the call is not resolved yet; -errno. */
int method_called(struct hotspot_vm *vm, uint64_t method, uint8_t opcode, uint16_t index,
                  uint64_t *ret);
/* Gets the bytes of the Symbol at @symbol, cut to @max. Returns 0 or -errno. */
int symbol_read(struct hotspot_vm *vm, uint64_t symbol, char *buf, size_t max, uint16_t *ret_n);
/* Gets the last @n bytes of the Symbol at @symbol. Return: 0; -ENOENT: the Symbol is shorter;
 * -errno. */
int symbol_end(struct hotspot_vm *vm, uint64_t symbol, char *buf, size_t n);
/* Returns the line of bci @wanted in a compressed line table; 0: unknown. Pure. */
uint32_t lines_find(struct span table, unsigned excluded, int32_t wanted);
/* Gets the address of the Symbol at @index of the ConstantPool at @pool. Returns 0 or -errno. */
int pool_symbol(struct hotspot_vm *vm, uint64_t pool, uint32_t index, uint64_t *ret);

/* Gets the raw names of the method at @method. Returns 0 or -errno. */
int method_names(struct hotspot_vm *vm, uint64_t method, struct hotspot_method *ret);

/* ---- routes.c ---- */

#define CLASS_TEXT_MAX 1024
/* Gets the name of the class at @klass, in internal form, in @buf. Returns 0 or -errno. */
int class_text(struct hotspot_vm *vm, uint64_t klass, char buf[CLASS_TEXT_MAX], struct span *ret);

/* ---- grpc.c ---- */

/* Returns whether the names @m can be those of a method of a gRPC service. */
bool grpc_may_be(const struct hotspot_method *m);
/* Gets the full name, "package.Service/Method", of @method of the service that the class at @klass
 * implements. Returns the number of bytes; 0: no such name is certain; -errno. */
int grpc_name(struct hotspot_vm *vm, uint64_t klass, struct span method,
              char ret[HOTSPOT_ROUTE_MAX]);

/* ---- calls.c ---- */

/* Gets the target of a call instruction. @p points to its bytes, @at is its address. Returns false
 * if the bytes are no call. */
bool code_call_target(const struct hotspot_vm *vm, const uint8_t *p, size_t n, uint64_t at,
                      uint64_t *ret);
/* Returns whether @at looks like the start of a function of libjvm, or has a uprobe. Such a probe
 * is flamed's own: of this capture, or of one that has just ended. The broker checks the function
 * in the file. */
bool code_is_function(struct hotspot_vm *vm, uint64_t at);

/* ---- yields.c ---- */

/* Finds the functions of @ret by the code of Continuation.doYield at @yield and of the stub that
 * thaws at @thaw. Return: 0; -ENOENT: a function was not found beyond doubt; -errno. */
int yields_search(struct hotspot_vm *vm, struct vm_range yield, struct vm_range thaw,
                  struct hotspot_yields *ret);
