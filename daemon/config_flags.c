/* SPDX-License-Identifier: Apache-2.0 */
#include "base/list.h"
#include "config_option.h"

/* Writes "log_level" as "--log-level". */
static const char *flag_name(const struct option *o, char *buf, size_t size)
{
    snprintf(buf, size, "--%s", o->name);
    for (char *p = buf; *p; p++) {
        if (*p == '_')
            *p = '-';
    }
    return buf;
}

static const struct option *find_flag(struct span name)
{
    char flag[64];

    return FIRST_OF(i, config_options, config_option_count,
                    span_eq_str(name, flag_name(&config_options[i], flag, sizeof(flag))));
}

int config_parse_argv(int argc, char *const *argv, struct config *c, uint64_t *given,
                      struct error *err)
{
    for (int i = 1; i < argc; i++) {
        struct span arg = span_of(argv[i]), name = arg;
        const struct option *o;
        const char *value = NULL;
        char flag[64];
        uint64_t bit;
        int r;

        name.n = span_find(arg, '=');
        if (name.n < arg.n)
            value = arg.p + name.n + 1;
        o = find_flag(name);
        if (!o) {
            error_remedy(err, "flamed --help lists the options");
            return error_set(err, -EINVAL, "there is no option '%.64s'", argv[i]);
        }
        flag_name(o, flag, sizeof(flag));
        bit = UINT64_C(1) << (o - config_options);
        if (o->type == OPTION_ACTION && value)
            return error_set(err, -EINVAL, "%s takes no value", flag);
        if (o->type != OPTION_ACTION && !value) {
            if (i + 1 == argc)
                return error_set(err, -EINVAL, "%s needs a value: %s %s", flag, flag, o->unit);
            value = argv[++i];
        }
        if (o->type == OPTION_LIST && !(*given & bit))
            option_clear(o, c);
        if (o->type != OPTION_LIST && o->type != OPTION_ACTION && (*given & bit))
            return error_set(err, -EINVAL, "%s is given twice", flag);
        *given |= bit;
        r = option_set(o, span_of(value ? value : ""), c);
        if (r < 0)
            return option_refuse(o, flag, value, r, err);
    }
    return 0;
}

/* Appends @text in lines of at most @width columns, each after @indent blanks. */
static void add_wrapped(struct buf *out, struct span text, size_t indent, size_t width)
{
    size_t column = 0;
    struct span word;

    while (span_take_word(&text, &word)) {
        if (column && column + 1 + word.n > width) {
            buf_add_char(out, '\n');
            column = 0;
        }
        if (column == 0)
            buf_printf(out, "%*s", (int)indent, "");
        else
            buf_add_char(out, ' ');
        buf_add_span(out, word);
        column = MAX(column, indent) + 1 + word.n;
    }
    buf_add_char(out, '\n');
}

static bool has_default(const struct option *o)
{
    return o->initial && o->initial[0];
}

void config_help(struct buf *out)
{
    char flag[64], text[512];

    buf_add_str(out,
                "Usage: flamed [OPTION]...\n\nProfiles every JVM on this machine and serves flame "
                "graphs over HTTP:\n  curl -o flame.html 'localhost:7979/profile?pid=4242&seconds="
                "30'\n\n");
    for (size_t i = 0; i < config_option_count; i++) {
        const struct option *o = &config_options[i];

        buf_printf(out, "  %s%s%s%s\n", flag_name(o, flag, sizeof(flag)), o->unit ? " " : "",
                   o->unit ? o->unit : "", o->type == OPTION_LIST ? " ..." : "");
        snprintf(text, sizeof(text), "%s%s%s%s", o->help, has_default(o) ? " Default: " : "",
                 has_default(o) ? o->initial : "", has_default(o) ? "." : "");
        add_wrapped(out, span_of(text), 6, 90);
    }
}

/* Writes text for roff: hyphens of options become minus signs, and a leading dot begins no request.
 */
static void add_roff(struct buf *out, const char *text)
{
    for (const char *p = text; *p; p++) {
        if (*p == '-')
            buf_add_str(out, "\\-");
        else if (*p == '\\')
            buf_add_str(out, "\\e");
        else
            buf_add_char(out, *p);
    }
}

void config_man(struct buf *out)
{
    char flag[64];

    for (size_t i = 0; i < config_option_count; i++) {
        const struct option *o = &config_options[i];

        buf_add_str(out, ".TP\n.B ");
        add_roff(out, flag_name(o, flag, sizeof(flag)));
        if (o->unit)
            buf_printf(out, " \\fI%s\\fR", o->unit);
        buf_add_char(out, '\n');
        add_roff(out, o->help);
        buf_add_char(out, '\n');
        if (has_default(o)) {
            buf_add_str(out, "Default: ");
            add_roff(out, o->initial);
            buf_add_str(out, ".\n");
        }
    }
}
