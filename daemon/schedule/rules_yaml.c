/* SPDX-License-Identifier: Apache-2.0 */
/* Parses rules of the configuration file; errors name their line. */
#include "base/list.h"
#include "event/events.h"
#include "schedule/duration.h"
#include "schedule/rules.h"
#include "yaml/yaml_part.h"

enum rule_kind { RULE_SCHEDULE = 1, RULE_TRIGGER = 2 };

/* ---- setters of one key; each returns 0, -EINVAL with a message, or -ENOMEM ---- */

static int set_name(struct yaml_part *y, const yaml_node_t *n, struct rule *rule)
{
    return yaml_part_take_name(n, rule->name)
               ? 0
               : yaml_part_refuse(y, n, rule->name, "name",
                                  "1 to 63 of a-z, 0-9 and '-', such as checkout-cpu");
}

static int set_match(struct yaml_part *y, const yaml_node_t *n, struct rule *rule)
{
    return yaml_part_take_matchers(y, n, rule->name, "main=~\"com.acme.*\"", &rule->match);
}

/* Returns whether @list is a list of one to EVENTS_AT_ONCE_MAX distinct events. */
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

static int set_event(struct yaml_part *y, const yaml_node_t *n, struct rule *rule)
{
    struct span s = yaml_part_text(n);
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
    return yaml_part_refuse(y, n, rule->name, "event", takes);
}

/* Parses 99 or 0.5 as thousandths, with at most three decimals. */
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

static int set_hz(struct yaml_part *y, const yaml_node_t *n, struct rule *rule)
{
    uint64_t v;

    if (n->type != YAML_SCALAR_NODE || !parse_millis(yaml_part_text(n), RULE_HZ_MAX, &v) ||
        v < 1000 || v > RULE_HZ_MAX * 1000)
        return yaml_part_refuse(y, n, rule->name, "hz", "a number from 1 to 10000, such as 99");
    rule->millihz = (uint32_t)v;
    return 0;
}

static int set_duration(struct yaml_part *y, const yaml_node_t *n, const struct rule *rule,
                        const char *key, uint64_t min, uint64_t max, uint64_t *ret)
{
    char from[DURATION_TEXT_BYTES], to[DURATION_TEXT_BYTES], takes[200];
    uint64_t v;

    if (n->type == YAML_SCALAR_NODE && duration_parse(yaml_part_text(n), &v) && v >= min &&
        v <= max) {
        *ret = v;
        return 0;
    }
    snprintf(takes, sizeof(takes), DURATION_FORM ", from %s to %s", duration_text(min, from),
             duration_text(max, to));
    return yaml_part_refuse(y, n, rule->name, key, takes);
}

static int set_every(struct yaml_part *y, const yaml_node_t *n, struct rule *rule)
{
    return set_duration(y, n, rule, "every", RULE_EVERY_MIN_NS, RULE_EVERY_MAX_NS, &rule->every_ns);
}

static int set_for(struct yaml_part *y, const yaml_node_t *n, struct rule *rule)
{
    return set_duration(y, n, rule, "for", RULE_FOR_MIN_NS, RULE_FOR_MAX_NS, &rule->for_ns);
}

static int set_keep(struct yaml_part *y, const yaml_node_t *n, struct rule *rule)
{
    return set_duration(y, n, rule, "keep", RULE_KEEP_MIN_NS, RULE_KEEP_MAX_NS, &rule->keep_ns);
}

static int set_cooldown(struct yaml_part *y, const yaml_node_t *n, struct rule *rule)
{
    return set_duration(y, n, rule, "cooldown", 0, RULE_COOLDOWN_MAX_NS, &rule->cooldown_ns);
}

static int set_on(struct yaml_part *y, const yaml_node_t *n, struct rule *rule)
{
    return n->type == YAML_SCALAR_NODE && condition_parse(yaml_part_text(n), &rule->on)
               ? 0
               : yaml_part_refuse(y, n, rule->name, "on", CONDITION_FORM);
}

/* Checks only that the value is a mapping. push/ parses it. */
static int set_webhook(struct yaml_part *y, const yaml_node_t *n, struct rule *rule)
{
    rule->webhook = n->type == YAML_MAPPING_NODE;
    return rule->webhook ? 0
                         : yaml_part_refuse(y, n, rule->name, "webhook", "a mapping with a url");
}

static int set_requests(struct yaml_part *y, const yaml_node_t *n, struct rule *rule)
{
    struct span s = yaml_part_text(n);

    rule->requests = span_eq_str(s, "yes");
    return rule->requests || span_eq_str(s, "no")
               ? 0
               : yaml_part_refuse(y, n, rule->name, "requests", "yes or no");
}

static int set_symbols(struct yaml_part *y, const yaml_node_t *n, struct rule *rule)
{
    struct span s = yaml_part_text(n);

    if (span_eq_str(s, "none"))
        rule->symbols = SYMBOLS_NONE;
    else if (!span_eq_str(s, "auto") && !span_eq_str(s, "memory"))
        return yaml_part_refuse(y, n, rule->name, "symbols",
                                "memory or none: nothing is loaded into a JVM in the background");
    return 0;
}

static const struct {
    const char *name;
    unsigned kinds, required; /* bits of enum rule_kind */
    int (*set)(struct yaml_part *y, const yaml_node_t *n, struct rule *rule);
} KEYS[] = {
    { "name", RULE_SCHEDULE | RULE_TRIGGER, RULE_SCHEDULE | RULE_TRIGGER, set_name },
    { "match", RULE_SCHEDULE | RULE_TRIGGER, 0, set_match },
    { "event", RULE_SCHEDULE | RULE_TRIGGER, 0, set_event },
    { "hz", RULE_SCHEDULE | RULE_TRIGGER, 0, set_hz },
    { "every", RULE_SCHEDULE, RULE_SCHEDULE, set_every },
    { "for", RULE_SCHEDULE | RULE_TRIGGER, RULE_SCHEDULE | RULE_TRIGGER, set_for },
    { "keep", RULE_SCHEDULE | RULE_TRIGGER, 0, set_keep },
    { "cooldown", RULE_TRIGGER, 0, set_cooldown },
    { "on", RULE_TRIGGER, 0, set_on },
    { "webhook", RULE_TRIGGER, 0, set_webhook },
    { "requests", RULE_SCHEDULE | RULE_TRIGGER, 0, set_requests },
    { "symbols", RULE_SCHEDULE | RULE_TRIGGER, 0, set_symbols },
};

/* ---- rules ---- */

static const char *kind_name(enum rule_kind kind)
{
    return kind == RULE_SCHEDULE ? "schedules" : "triggers";
}

/* Lists the keys that a rule of @kind takes. Returns @buf. */
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

static int read_key(struct yaml_part *y, const yaml_node_pair_t *pair, enum rule_kind kind,
                    struct rule *rule, unsigned *seen)
{
    const yaml_node_t *key = yaml_document_get_node(&y->doc, pair->key),
                      *value = yaml_document_get_node(&y->doc, pair->value);
    char text[YAML_PART_SHOWN], keys[128];

    for (size_t i = 0; key->type == YAML_SCALAR_NODE && i < ARRAY_SIZE(KEYS); i++) {
        if (!(KEYS[i].kinds & kind) || !span_eq_str(yaml_part_text(key), KEYS[i].name))
            continue;
        if (*seen & 1u << i)
            return error_set(y->err, -EINVAL, "%.128s, line %u: %s: %s is given twice", y->file,
                             yaml_part_line(key), rule->name[0] ? rule->name : kind_name(kind),
                             KEYS[i].name);
        *seen |= 1u << i;
        return KEYS[i].set(y, value, rule);
    }
    return error_set(y->err, -EINVAL, "%.128s, line %u: %s have no key '%s': they have %s", y->file,
                     yaml_part_line(key), kind_name(kind), yaml_part_shown(y, key, text),
                     key_list(kind, keys, sizeof(keys)));
}

static int check_rule(struct yaml_part *y, const yaml_node_t *n, enum rule_kind kind, unsigned seen,
                      const struct rule *rule)
{
    char every[DURATION_TEXT_BYTES], length[DURATION_TEXT_BYTES];

    for (size_t i = 0; i < ARRAY_SIZE(KEYS); i++) {
        if (KEYS[i].required & kind && !(seen & 1u << i))
            return error_set(y->err, -EINVAL, "%.128s, line %u: %s%slacks '%s': %s need %s",
                             y->file, yaml_part_line(n), rule->name, rule->name[0] ? " " : "",
                             KEYS[i].name, kind_name(kind),
                             kind == RULE_SCHEDULE ? "name, every and for" : "name and for");
    }
    if (rule->webhook && rule->on.kind == CONDITION_NONE)
        return error_set(
            y->err, -EINVAL,
            "%.128s, line %u: %s: webhook is for a trigger that pulls itself: give on, too",
            y->file, yaml_part_line(n), rule->name);
    if (kind == RULE_SCHEDULE && rule->for_ns >= rule->every_ns)
        return error_set(y->err, -EINVAL,
                         "%.128s, line %u: %s: for (%s) has to be shorter than every (%s)", y->file,
                         yaml_part_line(n), rule->name, duration_text(rule->for_ns, length),
                         duration_text(rule->every_ns, every));
    return 0;
}

/* Reads the name first, so that errors in the other keys can name the rule. */
static int read_rule(struct yaml_part *y, const yaml_node_t *n, enum rule_kind kind,
                     struct rule *rule)
{
    unsigned seen = 0;
    int result = 0;

    *rule = (struct rule){ .millihz = 99000, .symbols = SYMBOLS_MEMORY };
    span_copy(span_of(events_default()->name), rule->event, sizeof(rule->event));
    if (kind == RULE_TRIGGER)
        rule->cooldown_ns = RULE_COOLDOWN_DEFAULT_NS;
    if (n->type != YAML_MAPPING_NODE)
        return yaml_part_refuse(y, n, rule->name, kind_name(kind),
                                "a list of mappings, each with a name");
    for (int pass = 0; pass < 2; pass++) {
        for (const yaml_node_pair_t *p = n->data.mapping.pairs.start;
             result == 0 && p < n->data.mapping.pairs.top; p++) {
            const yaml_node_t *key = yaml_document_get_node(&y->doc, p->key);
            bool is_name =
                key->type == YAML_SCALAR_NODE && span_eq_str(yaml_part_text(key), "name");

            if (is_name == (pass == 0))
                result = read_key(y, p, kind, rule, &seen);
        }
    }
    return result < 0 ? result : check_rule(y, n, kind, seen, rule);
}

static bool name_taken(const struct rule *list, size_t count, const char *name)
{
    return ANY_OF(i, count, strcmp(list[i].name, name) == 0);
}

static int read_list(struct yaml_part *y, const yaml_node_t *n, enum rule_kind kind, size_t max,
                     const struct rules *before, struct rule **list, size_t *count)
{
    size_t items;
    int result = 0;

    if (n->type == YAML_SCALAR_NODE && yaml_part_text(n).n == 0)
        return 0; /* "schedules:" without entries */
    if (n->type != YAML_SEQUENCE_NODE)
        return yaml_part_refuse(y, n, "", kind_name(kind), "a list of mappings, each with a name");
    items = (size_t)(n->data.sequence.items.top - n->data.sequence.items.start);
    if (items > max)
        return error_set(y->err, -EINVAL,
                         "%.128s, line %u: %s has %zu entries: it takes %zu at most", y->file,
                         yaml_part_line(n), kind_name(kind), items, max);
    *list = calloc(MAX(items, (size_t)1), sizeof(**list));
    if (!*list)
        return -ENOMEM;
    for (size_t i = 0; result == 0 && i < items; i++) {
        const yaml_node_t *item = yaml_document_get_node(&y->doc, n->data.sequence.items.start[i]);

        *count = i + 1;
        result = read_rule(y, item, kind, &(*list)[i]);
        if (result == 0 &&
            (name_taken(*list, i, (*list)[i].name) ||
             (before && name_taken(before->schedules, before->schedule_count, (*list)[i].name))))
            result = error_set(y->err, -EINVAL,
                               "%.128s, line %u: the name '%s' is taken: every schedule and "
                               "trigger has one of its own",
                               y->file, yaml_part_line(item), (*list)[i].name);
    }
    return result;
}

static int read_rules(struct yaml_part *y, void *cookie)
{
    struct rules *rules = cookie;
    const yaml_node_t *schedules, *triggers = NULL;
    int r = yaml_part_find(y, "schedules", &schedules);

    if (r == 0)
        r = yaml_part_find(y, "triggers", &triggers);
    if (r == 0 && schedules)
        r = read_list(y, schedules, RULE_SCHEDULE, RULES_SCHEDULES_MAX, NULL, &rules->schedules,
                      &rules->schedule_count);
    if (r == 0 && triggers)
        r = read_list(y, triggers, RULE_TRIGGER, RULES_TRIGGERS_MAX, rules, &rules->triggers,
                      &rules->trigger_count);
    return r;
}

int rules_parse(struct span text, const char *file, struct rules **ret, struct error *err)
{
    _cleanup_(rules_freep) struct rules *rules = calloc(1, sizeof(*rules));
    struct yaml_part y = { .file = file, .err = err };
    int r = rules ? yaml_part_read(&y, text, read_rules, rules)
                  : error_set(err, -ENOMEM, "out of memory");

    if (r == 0)
        *ret = TAKE_PTR(rules);
    return r;
}
