/* SPDX-License-Identifier: Apache-2.0 */
/* Rules out of the configuration file: a tree of libyaml with the line of every node. */
#include "base/text.h"
#include "event/events.h"
#include "schedule/duration.h"
#include "schedule/rules.h"

#include <yaml.h>

#define SHOWN 64 /* bytes of a value in a sentence */

enum rule_kind { RULE_SCHEDULE = 1, RULE_TRIGGER = 2 };

struct reader {
    yaml_document_t doc;
    const char *file;
    struct error *err;
};

/* ---- sentences ---- */

static unsigned line_of(const yaml_node_t *n)
{
    return (unsigned)n->start_mark.line + 1;
}

static struct span text_of(const yaml_node_t *n)
{
    return (struct span){ (const char *)n->data.scalar.value, n->data.scalar.length };
}

/* What stands there, as a sentence shows it. */
static const char *shown(const yaml_node_t *n, char buf[SHOWN])
{
    if (n->type == YAML_SCALAR_NODE)
        return span_copy(text_of(n), buf, SHOWN);
    snprintf(buf, SHOWN, "%s", n->type == YAML_SEQUENCE_NODE ? "a list" : "a mapping");
    return buf;
}

static int refuse(struct reader *r, const yaml_node_t *at, const struct rule *rule, const char *key,
                  const char *takes)
{
    char value[SHOWN];

    return error_set(r->err, -EINVAL, "%.128s, line %u: %s%s%s does not take '%s': it takes %s",
                     r->file, line_of(at), rule->name, rule->name[0] ? ": " : "", key,
                     shown(at, value), takes);
}

/* ---- one value each: 0, -EINVAL with the sentence, or -ENOMEM ---- */

static int set_name(struct reader *r, const yaml_node_t *n, struct rule *rule)
{
    struct span s = n->type == YAML_SCALAR_NODE ? text_of(n) : SPAN_NULL;
    bool good = s.n >= 1 && s.n <= RULE_NAME_MAX;

    for (size_t i = 0; good && i < s.n; i++)
        good =
            (s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= '0' && s.p[i] <= '9') || s.p[i] == '-';
    if (!good)
        return refuse(r, n, rule, "name", "1 to 63 of a-z, 0-9 and '-', such as checkout-cpu");
    span_copy(s, rule->name, sizeof(rule->name));
    return 0;
}

static int add_match(struct reader *r, const yaml_node_t *n, struct rule *rule)
{
    struct error why = ERROR_NULL;
    int result;

    if (n->type != YAML_SCALAR_NODE)
        return refuse(r, n, rule, "match",
                      "texts such as main=~\"com.acme.*\", in YAML within single quotes");
    result = matchers_parse(text_of(n), &rule->match, &why);
    if (result != -EINVAL)
        return result;
    return error_set(r->err, result, "%.128s, line %u: %s%smatch: %s", r->file, line_of(n),
                     rule->name, rule->name[0] ? ": " : "", why.msg);
}

static int set_match(struct reader *r, const yaml_node_t *n, struct rule *rule)
{
    int result = 0;

    if (n->type != YAML_SEQUENCE_NODE)
        return add_match(r, n, rule);
    for (const yaml_node_item_t *i = n->data.sequence.items.start;
         result == 0 && i < n->data.sequence.items.top; i++)
        result = add_match(r, yaml_document_get_node(&r->doc, *i), rule);
    return result;
}

/* Whether @list is one to four events, each once. */
static bool is_event_list(struct span list)
{
    struct span names[EVENTS_AT_ONCE_MAX];
    size_t count;

    if (events_split(list, names, &count) < 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        char name[EVENT_NAME_BYTES];

        if (names[i].n >= sizeof(name))
            return false;
        span_copy(names[i], name, sizeof(name));
        if (!events_find(name))
            return false;
        for (size_t k = 0; k < i; k++) {
            if (events_same(names[k], names[i]))
                return false;
        }
    }
    return true;
}

static int set_event(struct reader *r, const yaml_node_t *n, struct rule *rule)
{
    struct span s = n->type == YAML_SCALAR_NODE ? text_of(n) : SPAN_NULL;
    char takes[320];
    size_t count, used;
    const struct event_info *events = events_table(&count);

    span_copy(s, rule->event, sizeof(rule->event));
    if (is_event_list(s))
        return 0;
    used = (size_t)snprintf(takes, sizeof(takes), "the name of an event");
    for (size_t i = 0; i < count && used < sizeof(takes); i++)
        used += (size_t)snprintf(takes + used, sizeof(takes) - used, "%s%s", i ? ", " : ": ",
                                 events[i].name);
    if (used < sizeof(takes))
        snprintf(takes + used, sizeof(takes) - used, "; or up to %d of them, with commas",
                 EVENTS_AT_ONCE_MAX);
    return refuse(r, n, rule, "event", takes);
}

/* 99, 0.5: at most three digits behind the point. */
static bool parse_millis(struct span s, uint64_t max, uint64_t *ret)
{
    uint64_t whole, part = 0;
    size_t digits = 0;

    if (!span_take_dec(&s, &whole) || whole > max)
        return false;
    if (span_take_char(&s, '.')) {
        digits = s.n;
        if (digits > 3 || !span_take_dec(&s, &part))
            return false;
    }
    for (; digits < 3; digits++)
        part *= 10;
    *ret = whole * 1000 + part;
    return s.n == 0;
}

static int set_hz(struct reader *r, const yaml_node_t *n, struct rule *rule)
{
    uint64_t v;

    if (n->type != YAML_SCALAR_NODE || !parse_millis(text_of(n), RULE_HZ_MAX, &v) || v < 1000 ||
        v > RULE_HZ_MAX * 1000)
        return refuse(r, n, rule, "hz", "a number from 1 to 10000, such as 99");
    rule->millihz = (uint32_t)v;
    return 0;
}

static int set_duration(struct reader *r, const yaml_node_t *n, const struct rule *rule,
                        const char *key, uint64_t min, uint64_t max, uint64_t *ret)
{
    char from[DURATION_TEXT_BYTES], to[DURATION_TEXT_BYTES], takes[200];
    uint64_t v;

    if (n->type == YAML_SCALAR_NODE && duration_parse(text_of(n), &v) && v >= min && v <= max) {
        *ret = v;
        return 0;
    }
    snprintf(takes, sizeof(takes), DURATION_FORM ", from %s to %s", duration_text(min, from),
             duration_text(max, to));
    return refuse(r, n, rule, key, takes);
}

static int set_every(struct reader *r, const yaml_node_t *n, struct rule *rule)
{
    return set_duration(r, n, rule, "every", RULE_EVERY_MIN_NS, RULE_EVERY_MAX_NS, &rule->every_ns);
}

static int set_for(struct reader *r, const yaml_node_t *n, struct rule *rule)
{
    return set_duration(r, n, rule, "for", RULE_FOR_MIN_NS, RULE_FOR_MAX_NS, &rule->for_ns);
}

static int set_keep(struct reader *r, const yaml_node_t *n, struct rule *rule)
{
    return set_duration(r, n, rule, "keep", RULE_KEEP_MIN_NS, RULE_KEEP_MAX_NS, &rule->keep_ns);
}

static int set_cooldown(struct reader *r, const yaml_node_t *n, struct rule *rule)
{
    return set_duration(r, n, rule, "cooldown", 0, RULE_COOLDOWN_MAX_NS, &rule->cooldown_ns);
}

static int set_symbols(struct reader *r, const yaml_node_t *n, struct rule *rule)
{
    struct span s = n->type == YAML_SCALAR_NODE ? text_of(n) : SPAN_NULL;

    if (span_eq_str(s, "none"))
        rule->symbols = SYMBOLS_NONE;
    else if (!span_eq_str(s, "auto") && !span_eq_str(s, "memory"))
        return refuse(r, n, rule, "symbols",
                      "memory or none: nothing is loaded into a JVM in the background");
    return 0;
}

static const struct {
    const char *name;
    unsigned kinds, required; /* bits of enum rule_kind */
    int (*set)(struct reader *r, const yaml_node_t *n, struct rule *rule);
} KEYS[] = {
    { "name", RULE_SCHEDULE | RULE_TRIGGER, RULE_SCHEDULE | RULE_TRIGGER, set_name },
    { "match", RULE_SCHEDULE | RULE_TRIGGER, 0, set_match },
    { "event", RULE_SCHEDULE | RULE_TRIGGER, 0, set_event },
    { "hz", RULE_SCHEDULE | RULE_TRIGGER, 0, set_hz },
    { "every", RULE_SCHEDULE, RULE_SCHEDULE, set_every },
    { "for", RULE_SCHEDULE | RULE_TRIGGER, RULE_SCHEDULE | RULE_TRIGGER, set_for },
    { "keep", RULE_SCHEDULE | RULE_TRIGGER, 0, set_keep },
    { "cooldown", RULE_TRIGGER, 0, set_cooldown },
    { "symbols", RULE_SCHEDULE | RULE_TRIGGER, 0, set_symbols },
};

/* ---- rules ---- */

static const char *kind_name(enum rule_kind kind)
{
    return kind == RULE_SCHEDULE ? "schedules" : "triggers";
}

/* The names of the keys that a rule of @kind has. */
static const char *key_list(enum rule_kind kind, char *buf, size_t size)
{
    size_t n = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(KEYS); i++) {
        if (KEYS[i].kinds & kind)
            n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? ", " : "", KEYS[i].name);
    }
    return buf;
}

static int read_key(struct reader *r, const yaml_node_pair_t *pair, enum rule_kind kind,
                    struct rule *rule, unsigned *seen)
{
    const yaml_node_t *key = yaml_document_get_node(&r->doc, pair->key),
                      *value = yaml_document_get_node(&r->doc, pair->value);
    char text[SHOWN], keys[128];

    for (size_t i = 0; key->type == YAML_SCALAR_NODE && i < ARRAY_SIZE(KEYS); i++) {
        if (!(KEYS[i].kinds & kind) || !span_eq_str(text_of(key), KEYS[i].name))
            continue;
        if (*seen & 1u << i)
            return error_set(r->err, -EINVAL, "%.128s, line %u: %s: %s is given twice", r->file,
                             line_of(key), rule->name[0] ? rule->name : kind_name(kind),
                             KEYS[i].name);
        *seen |= 1u << i;
        return KEYS[i].set(r, value, rule);
    }
    return error_set(r->err, -EINVAL, "%.128s, line %u: %s have no key '%s': they have %s", r->file,
                     line_of(key), kind_name(kind), shown(key, text),
                     key_list(kind, keys, sizeof(keys)));
}

static int check_rule(struct reader *r, const yaml_node_t *n, enum rule_kind kind, unsigned seen,
                      const struct rule *rule)
{
    char every[DURATION_TEXT_BYTES], length[DURATION_TEXT_BYTES];

    for (size_t i = 0; i < ARRAY_SIZE(KEYS); i++) {
        if (KEYS[i].required & kind && !(seen & 1u << i))
            return error_set(r->err, -EINVAL, "%.128s, line %u: %s%slacks '%s': %s need %s",
                             r->file, line_of(n), rule->name, rule->name[0] ? " " : "",
                             KEYS[i].name, kind_name(kind),
                             kind == RULE_SCHEDULE ? "name, every and for" : "name and for");
    }
    if (kind == RULE_SCHEDULE && rule->for_ns >= rule->every_ns)
        return error_set(r->err, -EINVAL,
                         "%.128s, line %u: %s: for (%s) has to be shorter than every (%s)", r->file,
                         line_of(n), rule->name, duration_text(rule->for_ns, length),
                         duration_text(rule->every_ns, every));
    return 0;
}

/* The name first, so that every sentence on the rest can carry it. */
static int read_rule(struct reader *r, const yaml_node_t *n, enum rule_kind kind, struct rule *rule)
{
    unsigned seen = 0;
    int result = 0;

    *rule = (struct rule){ .millihz = 99000, .symbols = SYMBOLS_MEMORY };
    span_copy(span_of(events_default()->name), rule->event, sizeof(rule->event));
    if (kind == RULE_TRIGGER)
        rule->cooldown_ns = RULE_COOLDOWN_DEFAULT_NS;
    if (n->type != YAML_MAPPING_NODE)
        return refuse(r, n, rule, kind_name(kind), "a list of mappings, each with a name");
    for (int pass = 0; pass < 2; pass++) {
        for (const yaml_node_pair_t *p = n->data.mapping.pairs.start;
             result == 0 && p < n->data.mapping.pairs.top; p++) {
            const yaml_node_t *key = yaml_document_get_node(&r->doc, p->key);
            bool is_name = key->type == YAML_SCALAR_NODE && span_eq_str(text_of(key), "name");

            if (is_name == (pass == 0))
                result = read_key(r, p, kind, rule, &seen);
        }
    }
    return result < 0 ? result : check_rule(r, n, kind, seen, rule);
}

static bool name_taken(const struct rule *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i].name, name) == 0)
            return true;
    }
    return false;
}

static int read_list(struct reader *r, const yaml_node_t *n, enum rule_kind kind, size_t max,
                     const struct rules *before, struct rule **list, size_t *count)
{
    const struct rule nameless = { .name = "" };
    size_t items;
    int result = 0;

    if (n->type == YAML_SCALAR_NODE && text_of(n).n == 0)
        return 0; /* "schedules:" with nothing below */
    if (n->type != YAML_SEQUENCE_NODE)
        return refuse(r, n, &nameless, kind_name(kind), "a list of mappings, each with a name");
    items = (size_t)(n->data.sequence.items.top - n->data.sequence.items.start);
    if (items > max)
        return error_set(r->err, -EINVAL,
                         "%.128s, line %u: %s has %zu entries: it takes %zu at most", r->file,
                         line_of(n), kind_name(kind), items, max);
    *list = calloc(MAX(items, (size_t)1), sizeof(**list));
    if (!*list)
        return -ENOMEM;
    for (size_t i = 0; result == 0 && i < items; i++) {
        const yaml_node_t *item = yaml_document_get_node(&r->doc, n->data.sequence.items.start[i]);

        *count = i + 1;
        result = read_rule(r, item, kind, &(*list)[i]);
        if (result == 0 &&
            (name_taken(*list, i, (*list)[i].name) ||
             (before && name_taken(before->schedules, before->schedule_count, (*list)[i].name))))
            result = error_set(r->err, -EINVAL,
                               "%.128s, line %u: the name '%s' is taken: every schedule and "
                               "trigger has one of its own",
                               r->file, line_of(item), (*list)[i].name);
    }
    return result;
}

static int read_top(struct reader *r, struct rules *rules)
{
    const yaml_node_t *root = yaml_document_get_root_node(&r->doc), *schedules = NULL,
                      *triggers = NULL;
    int result = 0;

    if (!root || root->type != YAML_MAPPING_NODE)
        return 0; /* who reads the other options says what is wrong with it */
    for (const yaml_node_pair_t *p = root->data.mapping.pairs.start;
         p < root->data.mapping.pairs.top; p++) {
        const yaml_node_t *key = yaml_document_get_node(&r->doc, p->key);
        bool scalar = key->type == YAML_SCALAR_NODE;
        const yaml_node_t **at = scalar && span_eq_str(text_of(key), "schedules")  ? &schedules
                                 : scalar && span_eq_str(text_of(key), "triggers") ? &triggers
                                                                                   : NULL;

        if (at && *at)
            return error_set(r->err, -EINVAL, "%.128s, line %u: %.*s is given twice", r->file,
                             line_of(key), (int)text_of(key).n, text_of(key).p);
        if (at)
            *at = yaml_document_get_node(&r->doc, p->value);
    }
    if (schedules)
        result = read_list(r, schedules, RULE_SCHEDULE, RULES_SCHEDULES_MAX, NULL,
                           &rules->schedules, &rules->schedule_count);
    if (result == 0 && triggers)
        result = read_list(r, triggers, RULE_TRIGGER, RULES_TRIGGERS_MAX, rules, &rules->triggers,
                           &rules->trigger_count);
    return result;
}

int rules_parse(struct span text, const char *file, struct rules **ret, struct error *err)
{
    _cleanup_(rules_freep) struct rules *rules = calloc(1, sizeof(*rules));
    struct reader r = { .file = file, .err = err };
    yaml_parser_t parser;
    int result = -ENOMEM;

    if (!rules || !yaml_parser_initialize(&parser))
        return error_set(err, -ENOMEM, "out of memory");
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.p, text.n);
    if (yaml_parser_load(&parser, &r.doc)) {
        result = read_top(&r, rules);
        yaml_document_delete(&r.doc);
    } else if (parser.error != YAML_MEMORY_ERROR) {
        result = error_set(err, -EINVAL, "%.128s, line %zu: this is no YAML: %s", file,
                           parser.problem_mark.line + 1, parser.problem ? parser.problem : "?");
    }
    yaml_parser_delete(&parser);
    if (result == -ENOMEM)
        return error_set(err, result, "out of memory");
    if (result == 0)
        *ret = TAKE_PTR(rules);
    return result;
}
