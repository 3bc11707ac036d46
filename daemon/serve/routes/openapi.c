/* SPDX-License-Identifier: Apache-2.0 */
/* openapi.json, put into the program by the assembler. */
#include "serve/serve.h"

__asm__(".section .rodata\n"
        ".balign 16\n"
        ".local serve_openapi_start\n"
        "serve_openapi_start:\n"
        ".incbin \"" FLAMED_OPENAPI_FILE "\"\n"
        ".local serve_openapi_end\n"
        "serve_openapi_end:\n"
        ".byte 0\n"
        ".previous\n");

extern const char serve_openapi_start[], serve_openapi_end[];

struct span serve_openapi(void)
{
    return (struct span){ serve_openapi_start,
                          (size_t)((uintptr_t)serve_openapi_end - (uintptr_t)serve_openapi_start) };
}
