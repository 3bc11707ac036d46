/* SPDX-License-Identifier: Apache-2.0 */
#include "config_option.h"

#include "access/basic.h"
#include "base/text.h"
#include "serve/tls/tls_config.h"

#include <cyaml/cyaml.h>

/* What libcyaml fills: texts alone, so that a value is read by the same code as on the command
 * line. */
struct yaml_values {
    char *text[CONFIG_OPTIONS_MAX];
    char **list[CONFIG_OPTIONS_MAX];
    unsigned list_count[CONFIG_OPTIONS_MAX];
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
        option_clear(o, c);
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
    for (size_t i = 0; i < config_option_count; i++) {
        cyaml_schema_field_t *f;

        if (config_options[i].flag_only)
            continue;
        f = fields++;
        *f = (cyaml_schema_field_t){ .key = config_options[i].name };
        if (config_options[i].type == OPTION_LIST) {
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
    /* What others read with the line of each key: schedule/rules_yaml.c, serve/. */
    *fields++ = (cyaml_schema_field_t)CYAML_FIELD_IGNORE("schedules", CYAML_FLAG_OPTIONAL);
    *fields++ = (cyaml_schema_field_t)CYAML_FIELD_IGNORE("triggers", CYAML_FLAG_OPTIONAL);
    *fields++ = (cyaml_schema_field_t)CYAML_FIELD_IGNORE("access", CYAML_FLAG_OPTIONAL);
    *fields++ = (cyaml_schema_field_t)CYAML_FIELD_IGNORE("tls_server_config", CYAML_FLAG_OPTIONAL);
    *fields++ = (cyaml_schema_field_t)CYAML_FIELD_IGNORE("basic_auth_users", CYAML_FLAG_OPTIONAL);
    *fields = (cyaml_schema_field_t)CYAML_FIELD_END;
}

static int yaml_rules(struct span text, const char *file, struct config *c, struct error *err)
{
    struct rules *rules = NULL;
    int r = rules_parse(text, file, &rules, err);

    if (r < 0)
        return r;
    rules_free(c->rules);
    c->rules = rules;
    return 0;
}

static int yaml_access(struct span text, const char *file, struct config *c, struct error *err)
{
    struct access_rules *rules = NULL;
    int r = access_rules_parse(text, file, &rules, err);

    if (r == 0)
        r = basic_users_parse(text, file, rules, err);
    if (r < 0) {
        access_rules_free(rules);
        return r;
    }
    access_rules_free(c->access);
    c->access = rules;
    return 0;
}

static int yaml_tls(struct span text, const char *file, struct config *c, struct error *err)
{
    struct tls_config *tls = NULL;
    int r = tls_config_parse(text, file, &tls, err);

    if (r < 0)
        return r;
    free(c->tls);
    c->tls = tls;
    if (access_rules_have(c->access, ACCESS_BY_CERTIFICATE) && !tls_config_verifies(tls))
        return error_set(err, -EINVAL,
                         "%.128s: a rule for a certificate takes tls_server_config with "
                         "client_ca_file and client_auth_type: VerifyClientCertIfGiven or "
                         "RequireAndVerifyClientCert",
                         file);
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

/* The line on which a second document begins, which libcyaml would pass by in silence; 0: none. */
static unsigned yaml_second_document(struct span text)
{
    bool content = false, ended = false;
    struct span line;

    for (unsigned n = 1; span_take_line(&text, &line); n++) {
        bool begins = span_starts_with(line, "---") && (line.n == 3 || line.p[3] == ' ');
        struct span words = span_trim(line);

        if (words.n == 0 || words.p[0] == '#' || words.p[0] == '%')
            continue;
        if (begins ? content : ended && !span_eq_str(words, "..."))
            return n;
        ended |= span_starts_with(line, "...");
        content |= !begins || words.n > 3;
    }
    return 0;
}

/* Puts what libcyaml said into a sentence with the line. */
static int yaml_refuse(struct span text, const char *file, cyaml_err_t e,
                       const struct yaml_log *log, struct error *err)
{
    struct span message = span_of(log->message), key;
    char name[64];

    error_remedy(err, "flamed --help lists the options; write them with underscores: log_level");
    if (span_take_str(&message, "Unexpected key: ") && span_take_word(&message, &key)) {
        key.n = span_find(key, ':'); /* what follows may be a value, and a password */
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
    cyaml_schema_field_t fields[CONFIG_OPTIONS_MAX + 6]; /* those that others read, the end */
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
    unsigned second;
    int r = 0;

    if (yaml_is_empty(text))
        return 0;
    if (!text_is_utf8(text))
        return error_set(err, -EINVAL, "%.128s is not UTF-8 text", file);
    second = yaml_second_document(text);
    if (second) {
        error_remedy(err, "put all of it into one");
        return error_set(err, -EINVAL, "%.128s, line %u: a second YAML document begins", file,
                         second);
    }
    yaml_schema(fields, &entry);
    e = cyaml_load_data((const uint8_t *)text.p, text.n, &config, &top, (cyaml_data_t **)&values,
                        NULL);
    if (e == CYAML_ERR_OOM)
        return error_set(err, -ENOMEM, "out of memory");
    if (e != CYAML_OK)
        return yaml_refuse(text, file, e, &log, err);
    for (size_t i = 0; values && r == 0 && i < config_option_count; i++) {
        if (!(given & UINT64_C(1) << i))
            r = yaml_apply(&config_options[i], i, values, text, file, c, err);
    }
    cyaml_free(&config, &top, values, 0);
    if (r == 0)
        r = yaml_access(text, file, c, err);
    if (r == 0)
        r = yaml_tls(text, file, c, err);
    return r < 0 ? r : yaml_rules(text, file, c, err);
}
