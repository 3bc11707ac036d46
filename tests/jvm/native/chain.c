/* SPDX-License-Identifier: Apache-2.0 */
/* A library whose work() calls outer(), inner() and leaf(), each with a frame of 48 bytes. Made
 * with -DLIES, the same code says of leaf() that its frame ends where that of outer() does. It says
 * so of the first and the last instruction, too: one sample in 100,000 stands there. */
#ifdef LIES
#define LEAF_CALLERS 96
#else
#define LEAF_CALLERS 0
#endif

#define TEXT(x) TEXT_(x)
#define TEXT_(x) #x
/* @callers: bytes of the frames that it takes for its own. */
#define FUNCTION(name, callers, body)                                                              \
    ".globl " name "\n.type " name ", @function\n" name ":\n"                                      \
    ".cfi_startproc\n.cfi_def_cfa_offset 8+" TEXT(                                                 \
        callers) "\nsub $40, %rsp\n"                                                               \
                 ".cfi_adjust_cfa_offset 40\n" body                                                \
                 "add $40, %rsp\n.cfi_adjust_cfa_offset -40\nret\n"                                \
                 ".cfi_endproc\n.size " name ", .-" name "\n"

__asm__(".text\n" FUNCTION("leaf", LEAF_CALLERS, "mov $2000000, %ecx\n1: dec %ecx\njnz 1b\n")
            FUNCTION("inner", 0, "call leaf\nnop\n") FUNCTION("outer", 0, "call inner\nnop\n")
                FUNCTION("work", 0, "call outer\nnop\n"));
