/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "sample/sample.h"

#include <cyaml/cyaml.h>
#include <fcntl.h>
#include <unistd.h>

enum option_type {
    OPTION_TEXT,
    OPTION_LIST,   /* of texts; repeatable */
    OPTION_CHOICE, /* one of `choices`, kept as its value */
    OPTION_BOOL,   /* yes or no */
    OPTION_NUMBER,
    OPTION_SIZE,   /* bytes, with K, M or G */
    OPTION_ACTION, /* a flag of the command line alone */
};

struct choice {
    const char *name;
    unsigned value;
};

static const struct choice LOG_LEVELS[] = {
    { "error", LOG_LEVEL_ERROR },
    { "warning", LOG_LEVEL_WARNING },
    { "info", LOG_LEVEL_INFO },
    { "debug", LOG_LEVEL_DEBUG },
};

static const struct choice SYMBOLS[] = {
    { "auto", CONFIG_SYMBOLS_AUTO },
    { "memory", CONFIG_SYMBOLS_MEMORY },
};

struct option {
    const char *name; /* key in the file; on the command line with '-' for '_' */
    enum option_type type;
    size_t offset;
    uint64_t min, max;
    const char *initial; /* default as a user would write it; lists: parted by blanks */
    const char *unit;    /* what a value is: the placeholder in --help */
    const char *help;
    const struct choice *choices;
    size_t choice_count;
    bool flag_only; /* has no meaning in the file */
};

#define AT(member) offsetof(struct config, member)
#define CHOICES(table) .choices = (table), .choice_count = ARRAY_SIZE(table)

static const struct option OPTIONS[] = {
    { "config", OPTION_TEXT, AT(config_file), 1, CONFIG_TEXT_MAX, CONFIG_FILE_DEFAULT, "FILE",
      "Read options from FILE, in YAML: one `name: value` for each, with the names of this list "
      "and "
      "underscores in place of hyphens.",
      .flag_only = true },
    { "listen", OPTION_LIST, AT(listen), 1, CONFIG_TEXT_MAX,
      "unix:/run/flamed/flamed.sock 127.0.0.1:7979", "ADDR",
      .help = "Serve HTTP on ADDR: HOST:PORT, [HOST6]:PORT or unix:PATH. May be given several "
              "times; replaces "
              "the default. HOST has to be a loopback address." },
    { "store", OPTION_TEXT, AT(store), 1, CONFIG_TEXT_MAX, "/var/lib/flamed", "DIR",
      .help = "Keep data in DIR." },
    { "user", OPTION_TEXT, AT(user), 1, 32, "flamed", "NAME",
      .help = "Run the part that parses and serves as the user NAME; where there is no such user, "
              "as a fixed "
              "high user id." },
    { "log_level", OPTION_CHOICE, AT(log_level), 0, 0, "info", "LEVEL",
      .help = "Log to standard error what is at least as grave as LEVEL: error, warning, info or "
              "debug.",
      CHOICES(LOG_LEVELS) },
    { "symbols", OPTION_CHOICE, AT(symbols), 0, 0, "auto", "SOURCE",
      .help = "Where Java names may come from: auto, or memory, which forbids to load anything "
              "into a JVM.",
      CHOICES(SYMBOLS) },
    { "show_arguments", OPTION_BOOL, AT(show_arguments), 0, 1, "no", "BOOL",
      .help = "Show the values of -D and --name= arguments of processes, which often hold secrets, "
              "in place of "
              "masking them." },
    { "captures_max", OPTION_NUMBER, AT(captures_max), 1, 1024, "64", "N",
      .help = "Take at most N profiles at once; more are refused with status 429." },
    { "samples_max", OPTION_NUMBER, AT(samples_max), 1000, 1000000000, "20000000", "N",
      .help = "Keep at most N samples of one profile; beyond it every second one is dropped, and "
              "the profile "
              "says so." },
    { "connections_max", OPTION_NUMBER, AT(connections_max), 8, 4096, "128", "N",
      .help = "Serve at most N connections at once; idle ones make room for new ones." },
    { "answer_max_bytes", OPTION_SIZE, AT(answer_max_bytes), 1 << 20, UINT64_C(2) << 30, "64M",
      "SIZE",
      .help = "Refuse an answer over SIZE bytes with status 413. SIZE may end in K, M or G (of "
              "1024)." },
    { "idle_timeout", OPTION_NUMBER, AT(idle_timeout_s), 1, 3600, "30", "SECONDS",
      .help =
          "Cut off a client that has not sent a whole request, or reads nothing, for so long." },
    { "store_max_bytes", OPTION_SIZE, AT(store_max_bytes), UINT64_C(16) << 20, UINT64_C(1) << 50,
      "2G", "SIZE", .help = "Keep at most SIZE of finished captures; the oldest go first." },
    { "store_max_age", OPTION_NUMBER, AT(store_max_age_s), 0, UINT64_C(100) * 365 * 86400, "0",
      "SECONDS", .help = "Drop captures that are older than SECONDS; 0: no limit by age." },
    { "recorder_hz", OPTION_NUMBER, AT(recorder_hz), 0, 1000, "19", "HZ",
      .help =
          "Rate of the flight recorder, which is always on and keeps the last minutes of the whole "
          "node; 0 turns it off." },
    { "recorder_seconds", OPTION_NUMBER, AT(recorder_seconds), 10, 86400, "600", "SECONDS",
      .help = "How far back the flight recorder reaches, where its memory suffices." },
    { "recorder_max_bytes", OPTION_SIZE, AT(recorder_max_bytes), 1 << 20, UINT64_C(16) << 30, "64M",
      "SIZE", .help = "Memory of the flight recorder." },
    { "check_config", OPTION_ACTION, AT(check_config), 0, 0, NULL, NULL,
      .help = "Read the command line and the file, say what is wrong with them or that they are "
              "right, and exit.",
      .flag_only = true },
    { "version", OPTION_ACTION, AT(version), 0, 0, NULL, NULL,
      .help = "Print the version and exit.", .flag_only = true },
    { "help", OPTION_ACTION, AT(help), 0, 0, NULL, NULL, .help = "Print this list and exit.",
      .flag_only = true },
};

_Static_assert(ARRAY_SIZE(OPTIONS) <= 64, "config_parse_argv() keeps a bit for each option");

/* ---- one value ---- */

static bool parse_size(struct span text, uint64_t *ret)
{
    static const struct {
        const char *suffix;
        unsigned shift;
    } UNITS[] = { { "GiB", 30 }, { "MiB", 20 }, { "KiB", 10 }, { "G", 30 },
                  { "M", 20 },   { "K", 10 },   { "", 0 } };

    for (size_t i = 0; i < ARRAY_SIZE(UNITS); i++) {
        struct span number = text;
        uint64_t v;

        if (!span_ends_with(text, UNITS[i].suffix))
            continue;
        number.n -= strlen(UNITS[i].suffix);
        if (!span_parse_dec(number, &v) || v > UINT64_MAX >> UNITS[i].shift)
            return false;
        *ret = v << UNITS[i].shift;
        return true;
    }
    return false;
}

static bool parse_bool(struct span text, bool *ret)
{
    static const char *const WORDS[2][4] = { { "no", "false", "off", "0" },
                                             { "yes", "true", "on", "1" } };

    for (size_t v = 0; v < 2; v++) {
        for (size_t i = 0; i < ARRAY_SIZE(WORDS[v]); i++) {
            if (span_eq_str(text, WORDS[v][i])) {
                *ret = v == 1;
                return true;
            }
        }
    }
    return false;
}

static void list_clear(struct config_list *l)
{
    while (l->count)
        free(l->items[--l->count]);
}

static int list_add(struct config_list *l, struct span text)
{
    char *copy;

    if (l->count == CONFIG_LISTEN_MAX)
        return -E2BIG;
    copy = span_dup(text);
    if (!copy)
        return -ENOMEM;
    l->items[l->count++] = copy;
    return 0;
}

/* What a good value of @o is. */
static const char *option_expects(const struct option *o, char *buf, size_t size)
{
    size_t n;

    switch (o->type) {
    case OPTION_CHOICE:
        snprintf(buf, size, "one of");
        for (size_t i = 0; i < o->choice_count; i++) {
            n = strlen(buf);
            snprintf(buf + n, size - n, "%s %s", i ? "," : "", o->choices[i].name);
        }
        break;
    case OPTION_BOOL:
        snprintf(buf, size, "yes or no");
        break;
    case OPTION_NUMBER:
        snprintf(buf, size, "a number from %llu to %llu", (unsigned long long)o->min,
                 (unsigned long long)o->max);
        break;
    case OPTION_SIZE:
        snprintf(buf, size, "a size from %lluM to %lluM, such as 64M",
                 (unsigned long long)o->min >> 20, (unsigned long long)o->max >> 20);
        break;
    case OPTION_TEXT:
    case OPTION_LIST:
    case OPTION_ACTION:
        snprintf(buf, size, "a text of %llu to %llu bytes", (unsigned long long)o->min,
                 (unsigned long long)o->max);
        break;
    }
    return buf;
}

/* Sets a member of @c. 0, -EINVAL, -E2BIG (list) or -ENOMEM; no sentence. */
static int option_set(const struct option *o, struct span text, struct config *c)
{
    void *at = (char *)c + o->offset;
    char *copy;
    uint64_t v;

    switch (o->type) {
    case OPTION_TEXT:
        if (text.n < o->min || text.n > o->max || !text_is_utf8(text))
            return -EINVAL;
        copy = span_dup(text);
        if (!copy)
            return -ENOMEM;
        free(*(char **)at);
        *(char **)at = copy;
        return 0;
    case OPTION_LIST:
        if (text.n < o->min || text.n > o->max || !text_is_utf8(text))
            return -EINVAL;
        return list_add(at, text);
    case OPTION_CHOICE:
        for (size_t i = 0; i < o->choice_count; i++) {
            if (span_eq_str(text, o->choices[i].name)) {
                *(unsigned *)at = o->choices[i].value;
                return 0;
            }
        }
        return -EINVAL;
    case OPTION_BOOL:
        return parse_bool(text, at) ? 0 : -EINVAL;
    case OPTION_NUMBER:
        if (!span_parse_dec(text, &v) || v < o->min || v > o->max)
            return -EINVAL;
        *(uint64_t *)at = v;
        return 0;
    case OPTION_SIZE:
        if (!parse_size(text, &v) || v < o->min || v > o->max)
            return -EINVAL;
        *(uint64_t *)at = v;
        return 0;
    case OPTION_ACTION:
        *(bool *)at = true;
        return 0;
    }
    return -EINVAL;
}

static int option_refuse(const struct option *o, const char *shown_name, const char *value, int r,
                         struct error *err)
{
    char expects[128];

    if (r == -ENOMEM)
        return error_set(err, r, "out of memory");
    if (r == -E2BIG)
        return error_set(err, r, "%s is given more than %d times", shown_name, CONFIG_LISTEN_MAX);
    return error_set(err, r, "%s does not take '%.64s': it takes %s", shown_name, value,
                     option_expects(o, expects, sizeof(expects)));
}

int config_init(struct config *c)
{
    *c = (struct config){ 0 };
    for (size_t i = 0; i < ARRAY_SIZE(OPTIONS); i++) {
        const struct option *o = &OPTIONS[i];
        struct span rest = span_of(o->initial), one;
        int r = 0;

        if (o->type == OPTION_LIST) {
            while (r == 0 && span_take_until(&rest, ' ', &one))
                r = option_set(o, one, c);
        } else if (o->initial) {
            r = option_set(o, rest, c);
        }
        if (r < 0)
            return r;
    }
    return 0;
}

void config_deinit(struct config *c)
{
    for (size_t i = 0; i < ARRAY_SIZE(OPTIONS); i++) {
        void *at = (char *)c + OPTIONS[i].offset;

        if (OPTIONS[i].type == OPTION_TEXT) {
            free(*(char **)at);
            *(char **)at = NULL;
        } else if (OPTIONS[i].type == OPTION_LIST) {
            list_clear(at);
        }
    }
    c->rules = rules_free(c->rules);
}

/* ---- the command line ---- */

/* "log_level" as "--log-level". */
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

    for (size_t i = 0; i < ARRAY_SIZE(OPTIONS); i++) {
        if (span_eq_str(name, flag_name(&OPTIONS[i], flag, sizeof(flag))))
            return &OPTIONS[i];
    }
    return NULL;
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
        bit = UINT64_C(1) << (o - OPTIONS);
        if (o->type == OPTION_ACTION && value)
            return error_set(err, -EINVAL, "%s takes no value", flag);
        if (o->type != OPTION_ACTION && !value) {
            if (i + 1 == argc)
                return error_set(err, -EINVAL, "%s needs a value: %s %s", flag, flag, o->unit);
            value = argv[++i];
        }
        if (o->type == OPTION_LIST && !(*given & bit))
            list_clear((struct config_list *)((char *)c + o->offset));
        if (o->type != OPTION_LIST && o->type != OPTION_ACTION && (*given & bit))
            return error_set(err, -EINVAL, "%s is given twice", flag);
        *given |= bit;
        r = option_set(o, span_of(value ? value : ""), c);
        if (r < 0)
            return option_refuse(o, flag, value, r, err);
    }
    return 0;
}

/* ---- the file ---- */

/* What libcyaml fills: texts alone, so that a value is read by the same code as on the command
 * line. */
struct yaml_values {
    char *text[ARRAY_SIZE(OPTIONS)];
    char **list[ARRAY_SIZE(OPTIONS)];
    unsigned list_count[ARRAY_SIZE(OPTIONS)];
};

/* The first complaint of libcyaml, and the line it belongs to. */
struct yaml_log {
    char message[ERROR_MSG_MAX / 2], place[ERROR_MSG_MAX / 4];
};

static void yaml_log(cyaml_log_t level, void *ctx, const char *fmt, va_list args)
{
    struct yaml_log *log = ctx;
    char text[sizeof(log->message)];
    struct span s;

    if (level < CYAML_LOG_ERROR)
        return;
    vsnprintf(text, sizeof(text), fmt, args);
    s = span_trim(span_of(text));
    if (span_starts_with(s, "Load: "))
        s = span_from(s, strlen("Load: "));
    if (!log->message[0])
        span_copy(s, log->message, sizeof(log->message));
    else if (!log->place[0] && memmem(s.p, s.n, "line:", 5))
        span_copy(s, log->place, sizeof(log->place));
}

static void yaml_skip_quote(struct span *line)
{
    if (line->n && (line->p[0] == '"' || line->p[0] == '\''))
        *line = span_from(*line, 1);
}

/* The number of the first line that sets @key; 0: none does. Keys of the file are all at its top
 * level. */
static unsigned yaml_line(struct span text, const char *key)
{
    struct span line;

    for (unsigned n = 1; span_take_line(&text, &line); n++) {
        line = span_trim(line);
        yaml_skip_quote(&line);
        if (span_take_str(&line, key)) {
            yaml_skip_quote(&line);
            span_skip_blanks(&line);
            if (span_starts_with(line, ":"))
                return n;
        }
    }
    return 0;
}

static int yaml_apply(const struct option *o, size_t index, const struct yaml_values *v,
                      struct span text, const char *file, struct config *c, struct error *err)
{
    char *const *values = v->text[index] ? &v->text[index] : v->list[index];
    size_t count = v->text[index] ? 1 : v->list[index] ? v->list_count[index] : 0;
    char where[256];

    if (o->type == OPTION_LIST && v->list[index])
        list_clear((struct config_list *)((char *)c + o->offset));
    for (size_t i = 0; i < count; i++) {
        const char *value = values[i] ? values[i] : "";
        int r = option_set(o, span_of(value), c);

        if (r < 0) {
            snprintf(where, sizeof(where), "%.128s, line %u: %s", file, yaml_line(text, o->name),
                     o->name);
            return option_refuse(o, where, value, r, err);
        }
    }
    return 0;
}

/* The schema follows from the table. */
static void yaml_schema(cyaml_schema_field_t *fields, const cyaml_schema_value_t *entry)
{
    for (size_t i = 0; i < ARRAY_SIZE(OPTIONS); i++) {
        cyaml_schema_field_t *f;

        if (OPTIONS[i].flag_only)
            continue;
        f = fields++;
        *f = (cyaml_schema_field_t){ .key = OPTIONS[i].name };
        if (OPTIONS[i].type == OPTION_LIST) {
            f->data_offset = (uint32_t)(offsetof(struct yaml_values, list) + i * sizeof(char **));
            f->count_offset =
                (uint32_t)(offsetof(struct yaml_values, list_count) + i * sizeof(unsigned));
            f->count_size = sizeof(unsigned);
            f->value = (cyaml_schema_value_t){
                .type = CYAML_SEQUENCE,
                .flags = CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                .data_size = sizeof(char *),
                .sequence = { .entry = entry, .min = 1, .max = CONFIG_LISTEN_MAX },
            };
        } else {
            f->data_offset = (uint32_t)(offsetof(struct yaml_values, text) + i * sizeof(char *));
            f->value = (cyaml_schema_value_t){
                .type = CYAML_STRING,
                .flags = CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                .data_size = sizeof(char),
                .string = { .min = 0, .max = CONFIG_TEXT_MAX },
            };
        }
    }
    /* Lists of mappings, which schedule/rules_yaml.c reads with the line of each key. */
    *fields++ = (cyaml_schema_field_t)CYAML_FIELD_IGNORE("schedules", CYAML_FLAG_OPTIONAL);
    *fields++ = (cyaml_schema_field_t)CYAML_FIELD_IGNORE("triggers", CYAML_FLAG_OPTIONAL);
    *fields = (cyaml_schema_field_t)CYAML_FIELD_END;
}

static bool event_known(const char *name)
{
    return events_find(name) != NULL;
}

static int yaml_rules(struct span text, const char *file, struct config *c, struct error *err)
{
    struct rules_checks checks = { .event_known = event_known };
    struct rules *rules = NULL;
    char names[200] = "";
    size_t count, n = 0;
    const struct event_info *events = events_table(&count);
    int r;

    for (size_t i = 0; i < count && n < sizeof(names); i++)
        n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", i ? ", " : "", events[i].name);
    checks.events = names;
    r = rules_parse(text, file, &checks, &rules, err);
    if (r < 0)
        return r;
    rules_free(c->rules);
    c->rules = rules;
    return 0;
}

/* A document without a value: libcyaml would miss its mapping. */
static bool yaml_is_empty(struct span text)
{
    struct span line;

    while (span_take_line(&text, &line)) {
        line = span_trim(line);
        if (line.n && line.p[0] != '#' && !span_eq_str(line, "---") && !span_eq_str(line, "..."))
            return false;
    }
    return true;
}

/* Puts what libcyaml said into a sentence with the line. */
static int yaml_refuse(struct span text, const char *file, cyaml_err_t e,
                       const struct yaml_log *log, struct error *err)
{
    struct span message = span_of(log->message), key;
    char name[64];

    error_remedy(err, "flamed --help lists the options; write them with underscores: log_level");
    if (span_take_str(&message, "Unexpected key: ") && span_take_word(&message, &key)) {
        span_copy(key, name, sizeof(name));
        return error_set(err, -EINVAL, "%.128s, line %u: there is no option '%s'", file,
                         yaml_line(text, name), name);
    }
    if (e == CYAML_ERR_ALIAS)
        return error_set(err, -EINVAL,
                         "%.128s: %s%san alias (*name) is not taken: write its value there", file,
                         log->place, log->place[0] ? ": " : "");
    return error_set(err, -EINVAL, "%.128s: %s%s%s", file,
                     log->message[0] ? log->message : cyaml_strerror(e), log->place[0] ? " " : "",
                     log->place);
}

int config_parse_yaml(struct span text, const char *file, uint64_t given, struct config *c,
                      struct error *err)
{
    cyaml_schema_field_t fields[ARRAY_SIZE(OPTIONS) + 3]; /* schedules, triggers, the end */
    const cyaml_schema_value_t entry = {
        CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, CONFIG_TEXT_MAX),
    };
    const cyaml_schema_value_t top = {
        CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct yaml_values, fields),
    };
    struct yaml_log log = { 0 };
    const cyaml_config_t config = { .log_fn = yaml_log,
                                    .log_ctx = &log,
                                    .mem_fn = cyaml_mem,
                                    .log_level = CYAML_LOG_ERROR,
                                    .flags = CYAML_CFG_NO_ALIAS };
    struct yaml_values *values = NULL;
    cyaml_err_t e;
    int r = 0;

    if (yaml_is_empty(text))
        return 0;
    if (!text_is_utf8(text))
        return error_set(err, -EINVAL, "%.128s is not UTF-8 text", file);
    yaml_schema(fields, &entry);
    e = cyaml_load_data((const uint8_t *)text.p, text.n, &config, &top, (cyaml_data_t **)&values,
                        NULL);
    if (e == CYAML_ERR_OOM)
        return error_set(err, -ENOMEM, "out of memory");
    if (e != CYAML_OK)
        return yaml_refuse(text, file, e, &log, err);
    for (size_t i = 0; values && r == 0 && i < ARRAY_SIZE(OPTIONS); i++) {
        if (!(given & UINT64_C(1) << i))
            r = yaml_apply(&OPTIONS[i], i, values, text, file, c, err);
    }
    cyaml_free(&config, &top, values, 0);
    return r < 0 ? r : yaml_rules(text, file, c, err);
}

int config_load(int argc, char *const *argv, struct config *c, struct error *err)
{
    _cleanup_buf_ struct buf text = BUF_NULL;
    uint64_t given = 0;
    int r = config_init(c);

    if (r < 0)
        return error_set(err, r, "out of memory");
    r = config_parse_argv(argc, argv, c, &given, err);
    if (r < 0 || c->help || c->version)
        return r;
    buf_init(&text, CONFIG_FILE_MAX_BYTES);
    r = buf_read_at(&text, AT_FDCWD, c->config_file);
    if (r == -ENOENT && !(given & 1)) /* the first row */
        return 0;
    if (r < 0)
        return error_code(err, r, "cannot read the configuration '%.128s'", c->config_file);
    return config_parse_yaml(buf_span(&text), c->config_file, given, c, err);
}

static bool option_differs(const struct option *o, const struct config *a, const struct config *b)
{
    const void *x = (const char *)a + o->offset, *y = (const char *)b + o->offset;
    const struct config_list *lists[2] = { x, y };

    switch (o->type) {
    case OPTION_TEXT:
        return strcmp(*(char *const *)x, *(char *const *)y) != 0;
    case OPTION_LIST:
        for (size_t i = 0; i < lists[0]->count && i < lists[1]->count; i++) {
            if (strcmp(lists[0]->items[i], lists[1]->items[i]) != 0)
                return true;
        }
        return lists[0]->count != lists[1]->count;
    case OPTION_CHOICE:
        return *(const unsigned *)x != *(const unsigned *)y;
    case OPTION_BOOL:
        return *(const bool *)x != *(const bool *)y;
    case OPTION_NUMBER:
    case OPTION_SIZE:
        return *(const uint64_t *)x != *(const uint64_t *)y;
    case OPTION_ACTION:
        break;
    }
    return false;
}

void config_differences(const struct config *a, const struct config *b, struct buf *out)
{
    for (size_t i = 0; i < ARRAY_SIZE(OPTIONS); i++) {
        if (option_differs(&OPTIONS[i], a, b))
            buf_printf(out, "%s%s", out->n ? ", " : "", OPTIONS[i].name);
    }
}

/* ---- what a person reads ---- */

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

void config_help(struct buf *out)
{
    char flag[64], text[512];

    buf_add_str(out,
                "Usage: flamed [OPTION]...\n\nProfiles every JVM on this machine and serves flame "
                "graphs over HTTP:\n  curl -o flame.html 'localhost:7979/profile?pid=4242&seconds="
                "30'\n\n");
    for (size_t i = 0; i < ARRAY_SIZE(OPTIONS); i++) {
        const struct option *o = &OPTIONS[i];

        buf_printf(out, "  %s%s%s%s\n", flag_name(o, flag, sizeof(flag)), o->unit ? " " : "",
                   o->unit ? o->unit : "", o->type == OPTION_LIST ? " ..." : "");
        snprintf(text, sizeof(text), "%s%s%s%s", o->help, o->initial ? " Default: " : "",
                 o->initial ? o->initial : "", o->initial ? "." : "");
        add_wrapped(out, span_of(text), 6, 90);
    }
}

/* Text for roff: hyphens of options are minus signs, a leading dot is no request. */
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

    for (size_t i = 0; i < ARRAY_SIZE(OPTIONS); i++) {
        const struct option *o = &OPTIONS[i];

        buf_add_str(out, ".TP\n.B ");
        add_roff(out, flag_name(o, flag, sizeof(flag)));
        if (o->unit)
            buf_printf(out, " \\fI%s\\fR", o->unit);
        buf_add_char(out, '\n');
        add_roff(out, o->help);
        buf_add_char(out, '\n');
        if (o->initial) {
            buf_add_str(out, "Default: ");
            add_roff(out, o->initial);
            buf_add_str(out, ".\n");
        }
    }
}
