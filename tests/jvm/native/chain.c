/* SPDX-License-Identifier: Apache-2.0 */
/* A library whose work() calls outer(), inner() and leaf(), each with a frame of 48 bytes. Made
 * with -DLIES, the same code says of leaf() that its frame ends where that of outer() does. */
#ifdef LIES
#define LEAF_CFA "144"
#else
#define LEAF_CFA "48"
#endif

#define FUNCTION(name, cfa, body)                                                                  \
    ".globl " name "\n.type " name ", @function\n" name ":\n"                                      \
    ".cfi_startproc\nsub $40, %rsp\n.cfi_def_cfa_offset " cfa "\n" body                            \
    "add $40, %rsp\n.cfi_def_cfa_offset 8\nret\n.cfi_endproc\n.size " name ", .-" name "\n"

__asm__(".text\n" FUNCTION("leaf", LEAF_CFA, "mov $2000000, %ecx\n1: dec %ecx\njnz 1b\n")
            FUNCTION("inner", "48", "call leaf\nnop\n") FUNCTION("outer", "48", "call inner\nnop\n")
                FUNCTION("work", "48", "call outer\nnop\n"));
