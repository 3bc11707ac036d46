/* SPDX-License-Identifier: Apache-2.0 */
/* The native method of Mallocs.java: asks for memory, and gives it back. */
#include <stdint.h>
#include <stdlib.h>

void Java_Mallocs_ask(void *env, void *owner, int32_t bytes);

void Java_Mallocs_ask(void *env, void *owner, int32_t bytes)
{
    void *p = malloc((size_t)bytes);

    __asm__ volatile("" : : "r"(p), "r"(env), "r"(owner) : "memory");
    free(p);
}
