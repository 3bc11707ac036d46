/* SPDX-License-Identifier: Apache-2.0 */
/* The two programs that the broker carries in itself, so that no file can be put in their place. */
#include "privileged/embedded.h"

#define BLOB(name, path)                                                                           \
    __asm__(".pushsection .rodata\n"                                                               \
            ".balign 16\n"                                                                         \
            ".globl " #name "_start\n" #name "_start:\n"                                           \
            ".incbin \"" path "\"\n"                                                               \
            ".globl " #name "_end\n" #name "_end:\n"                                               \
            ".byte 0\n"                                                                            \
            ".popsection\n");                                                                      \
    extern const char name##_start[], name##_end[];

BLOB(blob_helper, FLAMED_ATTACH_PATH)
BLOB(blob_agent, FLAMED_AGENT_PATH)

struct span blob_of_helper(void)
{
    return (struct span){ blob_helper_start, (size_t)(blob_helper_end - blob_helper_start) };
}

struct span blob_of_agent(void)
{
    return (struct span){ blob_agent_start, (size_t)(blob_agent_end - blob_agent_start) };
}
