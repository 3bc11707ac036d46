/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration as a YAML file, and the same bytes as words of a command line. */
#include "base/cleanup.h"
#include "config.h"
#include "event/events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rule(const struct rule *r)
{
    struct matcher_list again = { .count = 0 };
    _cleanup_buf_ struct buf text = BUF_NULL;
    struct matcher_set *set = NULL;
    struct capture_request req = rule_request(r);

    if (!r->name[0] || strlen(r->name) > RULE_NAME_MAX || r->for_ns < RULE_FOR_MIN_NS ||
        r->for_ns > RULE_FOR_MAX_NS || (r->every_ns && r->for_ns >= r->every_ns))
        abort();
    if (req.event_count < 1 || req.event_count > EVENTS_AT_ONCE_MAX)
        abort();
    for (size_t i = 0; i < req.event_count; i++) {
        if (!req.events[i].period || !events_find(req.events[i].name))
            abort();
    }
    /* The spelling of matchers has the same meaning when it is read again. */
    buf_init(&text, (size_t)1 << 20);
    matchers_write(&r->match, &text);
    if (r->match.count && (text.error || matchers_parse(buf_span(&text), &again, NULL) < 0))
        abort();
    if (again.count != r->match.count || matcher_set_new(&again, &set, NULL) < 0)
        abort();
    for (size_t i = 0; i < again.count; i++) {
        if (strcmp(again.items[i].value, r->match.items[i].value) != 0)
            abort();
    }
    matcher_set_holds(
        set, &(struct matcher_values){ "com.acme.Checkout", "p", "u", "n", "c", "", "s", 0 });
    matcher_set_free(set);
    matchers_clear(&again);
}

static void check_rules(const struct rules *r)
{
    if (r->schedule_count > RULES_SCHEDULES_MAX || r->trigger_count > RULES_TRIGGERS_MAX)
        abort();
    for (size_t i = 0; i < r->schedule_count; i++) {
        check_rule(&r->schedules[i]);
        if (r->schedules[i].every_ns < RULE_EVERY_MIN_NS)
            abort();
    }
    for (size_t i = 0; i < r->trigger_count; i++)
        check_rule(&r->triggers[i]);
}

static void check(const struct config *c)
{
    if (c->listen.count > CONFIG_LISTEN_MAX || !c->store.folder || !c->user || !c->config_file ||
        c->captures.max < 1 || c->captures.max > 1024 || c->answer_max_bytes < 1 << 20)
        abort();
    if (c->rules)
        check_rules(c->rules);
}

/* A reload compares the new values with those in force. */
static void check_differences(const struct config *c)
{
    _cleanup_buf_ struct buf none = BUF_NULL, names = BUF_NULL;
    struct config fresh;

    if (config_init(&fresh) < 0)
        abort();
    buf_init(&none, 4096);
    buf_init(&names, 4096);
    config_differences(c, c, &none);
    config_differences(c, &fresh, &names);
    if (none.n || none.error || names.error)
        abort();
    config_deinit(&fresh);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text = { (const char *)data, size }, line;
    _cleanup_free_ char *copy = NULL;
    struct error err = ERROR_NULL;
    char *argv[9] = { NULL };
    struct config c;
    uint64_t given = 0;
    int argc = 1;

    if (config_init(&c) < 0)
        abort();
    if (config_parse_yaml(text, "fuzz.yaml", 0, &c, &err) < 0 && !err.msg[0])
        abort();
    check(&c);
    check_differences(&c);
    config_deinit(&c);

    copy = span_dup(text);
    if (!copy || config_init(&c) < 0)
        abort();
    argv[0] = copy;
    text = span_of(copy);
    while (argc < 8 && span_take_line(&text, &line)) {
        copy[line.p - copy + (ptrdiff_t)line.n] = '\0';
        argv[argc++] = copy + (line.p - copy);
    }
    err = ERROR_NULL;
    if (config_parse_argv(argc, argv, &c, &given, &err) < 0 && !err.msg[0])
        abort();
    check(&c);
    config_deinit(&c);
    return 0;
}
