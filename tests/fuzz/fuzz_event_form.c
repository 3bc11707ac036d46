/* SPDX-License-Identifier: Apache-2.0 */
/* Names of events: parts of an accepted name are valid in a path, and within limits. */
#include "event/event_form.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_part(struct span text, struct span part, bool required)
{
    if (required != (part.n > 0))
        abort();
    if (part.n && (part.p < text.p || part.p + part.n > text.p + text.n || part.p[0] == '.'))
        abort();
    if (span_find(part, '/') < part.n || span_find(part, '\0') < part.n)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text = { (const char *)data, size };
    struct error err = ERROR_NULL;
    struct event_form f;
    int r = event_form_parse(text, &f, &err);

    if (r != 0 && r != -ENOENT && r != -EINVAL)
        abort();
    if ((r == -EINVAL) != (err.msg[0] != '\0'))
        abort();
    if (r != 0)
        return 0;
    if (f.kind >= EVENT_KINDS_ALL || f.term_count > EVENT_TERMS_MAX)
        abort();
    bool function = f.kind == EVENT_FUNCTION;

    check_part(text, f.group, f.kind == EVENT_TRACEPOINT || function);
    if (!function || f.name.p[0] != '.') /* a symbol does not become part of a path */
        check_part(text, f.name, f.kind == EVENT_TRACEPOINT || f.kind == EVENT_PMU || function);
    if (function && f.address >> 32)
        abort();
    if ((f.kind == EVENT_PMU) != (f.term_count > 0))
        abort();
    for (size_t i = 0; i < f.term_count; i++)
        check_part(text, f.terms[i].name, /* required= */ true);
    if (f.kind == EVENT_BREAKPOINT &&
        (!f.address || f.address >> 48 || f.bytes < 1 || f.bytes > 8 || !f.access))
        abort();
    return 0;
}
