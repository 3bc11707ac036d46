/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/mountinfo. */
#include "proc/proc.h"

static bool has_flag(struct span options, const char *name)
{
    struct span one;

    while (span_take_until(&options, ',', &one)) {
        if (span_eq_str(one, name))
            return true;
    }
    return false;
}

bool mountinfo_has(const struct mountinfo *m, const char *option)
{
    return has_flag(m->options, option);
}

static bool parse_line(struct span line, struct mountinfo *ret)
{
    struct mountinfo m = { 0 };
    struct span word, options;

    if (!span_take_dec(&line, &m.id) || !span_take_char(&line, ' ') ||
        !span_take_dec(&line, &m.parent) || !span_take_char(&line, ' ') ||
        !span_take_word(&line, &word) || !span_take_word(&line, &m.root) ||
        !span_take_word(&line, &m.point) || !span_take_word(&line, &options))
        return false;
    m.read_only = has_flag(options, "ro");
    m.noexec = has_flag(options, "noexec");
    for (;;) { /* optional fields end at a hyphen */
        if (!span_take_word(&line, &word))
            return false;
        if (span_eq_str(word, "-"))
            break;
        m.shared |= span_starts_with(word, "shared:");
    }
    if (!span_take_word(&line, &m.type) || !span_take_word(&line, &m.source))
        return false;
    if (span_take_word(&line, &m.options))
        m.read_only |= mountinfo_has(&m, "ro");
    *ret = m;
    return true;
}

bool mountinfo_take(struct span *text, struct mountinfo *ret)
{
    struct span line;

    while (span_take_line(text, &line)) {
        if (parse_line(line, ret))
            return true;
    }
    return false;
}
