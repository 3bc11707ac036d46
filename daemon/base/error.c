/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

static int error_vset(struct error *err, int code, const char *fmt, va_list ap)
{
    if (err) {
        err->code = code;
        vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
    }
    return code;
}

int error_set(struct error *err, int code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    error_vset(err, code, fmt, ap);
    va_end(ap);
    return code;
}

static void error_append_errno(struct error *err, int r)
{
    char text[96];
    size_t n;

    if (!err)
        return;
    n = strlen(err->msg);
    snprintf(err->msg + n, sizeof(err->msg) - n, ": %s", strerror_r(-r, text, sizeof(text)));
}

int error_errno(struct error *err, const char *fmt, ...)
{
    int r = -errno;
    va_list ap;

    va_start(ap, fmt);
    error_vset(err, r, fmt, ap);
    va_end(ap);
    error_append_errno(err, r);
    return r;
}

int error_code(struct error *err, int r, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    error_vset(err, r, fmt, ap);
    va_end(ap);
    error_append_errno(err, r);
    return r;
}

void error_remedy(struct error *err, const char *fmt, ...)
{
    va_list ap;

    if (!err)
        return;
    va_start(ap, fmt);
    vsnprintf(err->remedy, sizeof(err->remedy), fmt, ap);
    va_end(ap);
}

int error_parameter(struct error *err, const char *parameter, int code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    error_vset(err, code, fmt, ap);
    va_end(ap);
    if (err)
        err->parameter = parameter;
    return code;
}
