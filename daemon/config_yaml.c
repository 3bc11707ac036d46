/* SPDX-License-Identifier: Apache-2.0 */
#include "config_option.h"

#include "access/basic.h"
#include "base/text.h"
#include "serve/tls/tls_config.h"
#include "yaml/yaml_part.h"

struct option_reading {
    struct config *config;
    uint64_t given; /* bits of the options on the command line */
};

/* Keys of the file that are no options. Each has a parser of its own. */
static const char *const PARTS[] = { "schedules",         "triggers",         "access",
                                     "tls_server_config", "basic_auth_users", "push" };

/* Sets one value of @o. If @c is NULL, checks only the form of the value: the command line has set
 * this option. */
static int take_text(const struct yaml_part *y, const struct option *o, const yaml_node_t *n,
                     struct config *c)
{
    struct span text = yaml_part_text(n);
    bool good =
        n->type == YAML_SCALAR_NODE && text.n <= CONFIG_TEXT_MAX && !memchr(text.p, 0, text.n);
    char where[256], show[YAML_PART_SHOWN];
    int r = !good ? -EINVAL : c ? option_set(o, text, c) : 0;

    if (r == 0)
        return 0;
    snprintf(where, sizeof(where), "%.128s, line %u: %s", y->file, yaml_part_line(n), o->name);
    return option_refuse(o, where, yaml_part_shown(y, n, show), r, y->err);
}

static int take_list(struct yaml_part *y, const struct option *o, const yaml_node_t *n,
                     struct config *c)
{
    int r = 0;

    if (n->type != YAML_SEQUENCE_NODE || n->data.sequence.items.start == n->data.sequence.items.top)
        return yaml_part_refuse(y, n, "", o->name, "a list of one text or more");
    if (c)
        option_clear(o, c);
    for (const yaml_node_item_t *i = n->data.sequence.items.start;
         r == 0 && i < n->data.sequence.items.top; i++)
        r = take_text(y, o, yaml_document_get_node(&y->doc, *i), c);
    return r;
}

static int take_option(struct yaml_part *y, const yaml_node_t *key, const yaml_node_t *value,
                       void *cookie)
{
    const struct option_reading *reading = cookie;
    struct span name = yaml_part_text(key);
    char show[YAML_PART_SHOWN];

    for (size_t i = 0; i < config_option_count; i++) {
        const struct option *o = &config_options[i];
        struct config *c = reading->given & UINT64_C(1) << i ? NULL : reading->config;

        if (!o->flag_only && span_eq_str(name, o->name))
            return o->type == OPTION_LIST ? take_list(y, o, value, c) : take_text(y, o, value, c);
    }
    for (size_t i = 0; i < ARRAY_SIZE(PARTS); i++) {
        if (span_eq_str(name, PARTS[i]))
            return 0;
    }
    name.n = span_find(name, ':'); /* what follows may be a value, even a password */
    error_remedy(y->err, "flamed --help lists the options; write them with underscores: log_level");
    return error_set(y->err, -EINVAL, "%.128s, line %u: there is no option '%s'", y->file,
                     yaml_part_line(key), span_copy(name, show, sizeof(show)));
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
    int r =
        access_rules_parse(text, file, &rules, err) ?: basic_users_parse(text, file, rules, err);

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

/* Parses the part `push`. A target may name a rule of `access` that limits it, and that rule has to
 * exist. */
static int yaml_push(struct span text, const char *file, struct config *c, struct error *err)
{
    struct push_config *push = NULL;
    int r = push_config_parse(text, file, &push, err);

    for (size_t i = 0; r == 0 && push && i < push->count; i++) {
        const char *name = push->targets[i].access;
        const struct access_rule *rule = name[0] ? access_rules_named(c->access, name) : NULL;

        if (rule && rule->role < ROLE_VIEW)
            r = error_set(err, -EINVAL,
                          "%.128s: push: %s: the rule '%s' has a role below view: it sees no "
                          "profile",
                          file, push->targets[i].name, name);
        else if (name[0] && !rule)
            r = error_set(err, -EINVAL, "%.128s: push: %s: there is no rule '%s' under access",
                          file, push->targets[i].name, name);
    }
    if (r < 0) {
        push_config_free(push);
        return r;
    }
    push_config_free(c->push);
    c->push = push;
    return 0;
}

int config_parse_yaml(struct span text, const char *file, uint64_t given, struct config *c,
                      struct error *err)
{
    struct option_reading reading = { .config = c, .given = given };
    struct yaml_part y = { .file = file, .err = err };
    bool found;
    int r;

    if (!text_is_utf8(text))
        return error_set(err, -EINVAL, "%.128s is not UTF-8 text", file);
    r = yaml_part_mapping(&y, text, NULL, take_option, &reading, &found) ?:
        yaml_access(text, file, c, err) ?:
        yaml_tls(text, file, c, err) ?:
        yaml_push(text, file, c, err);
    return r < 0 ? r : yaml_rules(text, file, c, err);
}
