/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sentence behind a negative result. If a person will read why a function failed, that function
 * takes a caller-owned `struct error *` last. The same sentence serves the HTTP body and the log.
 */
#pragma once

#include "base/macros.h"

#include <stdarg.h>

#define ERROR_MSG_MAX 384
#define ERROR_REMEDY_MAX 256

struct error {
    int code;              /* the negative errno that was returned; 0: unset */
    unsigned retry_s;      /* seconds after which a new try may help; 0: unknown */
    const char *parameter; /* points at a literal: the parameter that was wrong, or NULL */
    const char *step;      /* points at a literal: the step of the preflight that failed, or NULL */
    /* One sentence without a full stop; cleaned when written out, not here. */
    char msg[ERROR_MSG_MAX];
    char remedy[ERROR_REMEDY_MAX]; /* what the user can do about it; "": unknown */
};

#define ERROR_NULL ((struct error){ 0 })

/* Stores the sentence. Returns @code (negative errno), so that callers can write `return
 * error_set(...)`. The other functions below do so, too. @err may be NULL. Thread: any; nothing
 * allocates or blocks. */
int error_set(struct error *err, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Does error_set() with -errno, and appends ": <strerror>". */
int error_errno(struct error *err, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Does error_set() with @r (negative errno), and appends ": <strerror>". Returns @r. */
int error_code(struct error *err, int r, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Sets the remedy. */
void error_remedy(struct error *err, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Names the parameter (a string literal) and returns @code. */
int error_parameter(struct error *err, const char *parameter, int code, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
