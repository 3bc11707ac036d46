/* SPDX-License-Identifier: Apache-2.0 */
#include "push/push_config_impl.h"

#include "base/list.h"
#include "event/events.h"
#include "push/push_url.h"
#include "schedule/duration.h"

#include <ctype.h>

#define KEYS_KNOWN                                                                                 \
    "name, url, protocol, every, events, match, access, headers, basic_auth, authorization, "      \
    "tls_config, proxy_url, no_proxy, link, samples, spool_bytes, spool_age"
#define SPOOL_BYTES_DEFAULT (UINT64_C(64) << 20)
#define SPOOL_AGE_DEFAULT_NS (3600 * NSEC_PER_SEC)

const char *push_file_key(enum push_file file)
{
    static const char *const KEYS[PUSH_FILES] = { [PUSH_FILE_PASSWORD] = "password_file",
                                                  [PUSH_FILE_CREDENTIALS] = "credentials_file",
                                                  [PUSH_FILE_CA] = "ca_file",
                                                  [PUSH_FILE_CERT] = "cert_file",
                                                  [PUSH_FILE_KEY] = "key_file" };

    return KEYS[file];
}

const char *push_protocol_name(enum push_protocol protocol)
{
    return protocol == PUSH_WEBHOOK ? "webhook" : protocol == PUSH_PYROSCOPE ? "pyroscope" : "otlp";
}

struct push_config *push_config_free(struct push_config *c)
{
    for (size_t i = 0; c && i < ARRAY_SIZE(c->targets); i++)
        matchers_clear(&c->targets[i].match);
    if (c)
        explicit_bzero(c, sizeof(*c));
    free(c);
    return NULL;
}

/* ---- values ---- */

static int refuse(const struct push_reading *r, const yaml_node_t *at, const char *key,
                  const char *takes)
{
    return yaml_part_refuse(r->y, at, r->t ? r->t->name : "", key, takes);
}

int push_refuse_secret(const struct push_reading *r, const yaml_node_t *at, const char *key,
                       const char *takes)
{
    r->y->secret = true;
    return refuse(r, at, key, takes);
}

/* Returns whether @s is one line of text without control characters, of @max bytes at most. */
static bool is_line(struct span s, size_t max)
{
    for (size_t i = 0; i < s.n; i++) {
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
            return false;
    }
    return s.n > 0 && s.n <= max;
}

static int take_line(const struct push_reading *r, const yaml_node_t *n, const char *key, char *to,
                     size_t size)
{
    struct span s = yaml_part_text(n);

    if (n->type != YAML_SCALAR_NODE || !is_line(s, size - 1))
        return push_refuse_secret(r, n, key, "a line of text");
    span_copy(s, to, size);
    return 0;
}

/* Reads an address into @to. Drops a '/' at its end, unless @as_written. */
static int take_url(const struct push_reading *r, const yaml_node_t *n, const char *key,
                    bool as_written, char to[PUSH_URL_MAX + 1])
{
    struct span s = yaml_part_text(n), address = s;

    if (!push_url_is_address(&address) || s.n > PUSH_URL_MAX)
        return push_refuse_secret(r, n, key,
                                  "http:// or https:// with a host and a port, and no user or "
                                  "password, and without '?' and '#'");
    span_copy(as_written ? s : address, to, PUSH_URL_MAX + 1);
    return 0;
}

static int take_number(const struct push_reading *r, const yaml_node_t *n, const char *key,
                       uint64_t min, uint64_t max, uint64_t *ret)
{
    char takes[80];
    uint64_t v;

    if (span_parse_dec(yaml_part_text(n), &v) && v >= min && v <= max) {
        *ret = v;
        return 0;
    }
    snprintf(takes, sizeof(takes), "a number from %llu to %llu", (unsigned long long)min,
             (unsigned long long)max);
    return refuse(r, n, key, takes);
}

static int take_duration(const struct push_reading *r, const yaml_node_t *n, const char *key,
                         uint64_t min, uint64_t max, uint64_t *ret)
{
    uint64_t v;

    if (!duration_parse(yaml_part_text(n), &v) || v < min || v > max)
        return refuse(r, n, key, DURATION_FORM ", in its bounds");
    *ret = v;
    return 0;
}

static int take_protocol(const struct push_reading *r, const yaml_node_t *n)
{
    struct span s = yaml_part_text(n);

    if (!span_eq_str(s, "otlp") && !span_eq_str(s, "pyroscope"))
        return refuse(r, n, "protocol", "otlp or pyroscope");
    r->t->protocol = span_eq_str(s, "otlp") ? PUSH_OTLP : PUSH_PYROSCOPE;
    return 0;
}

/* Returns true if the flight recorder samples the event. For other events there are no past
 * samples. */
static bool is_recorded(const char *name)
{
    static const char *const NAMES[] = { "cpu", "wall", "offcpu", "lock", "alloc" };

    return ANY_OF(i, ARRAY_SIZE(NAMES), strcmp(NAMES[i], name) == 0);
}

static int take_events(const struct push_reading *r, const yaml_node_t *n)
{
    static const char TAKES[] =
        "a list of one to four events of the flight recorder: cpu, wall, offcpu, lock, "
        "alloc";
    char name[EVENT_NAME_BYTES];
    size_t used = 0;

    if (n->type != YAML_SEQUENCE_NODE ||
        n->data.sequence.items.top - n->data.sequence.items.start > EVENTS_AT_ONCE_MAX ||
        n->data.sequence.items.top == n->data.sequence.items.start)
        return refuse(r, n, "events", TAKES);
    for (const yaml_node_item_t *i = n->data.sequence.items.start; i < n->data.sequence.items.top;
         i++) {
        const yaml_node_t *item = yaml_document_get_node(&r->y->doc, *i);
        struct span s = yaml_part_text(item);

        if (!s.n || s.n >= sizeof(name) || memchr(s.p, ',', s.n) ||
            !is_recorded(span_copy(s, name, sizeof(name))) ||
            events_listed(span_of(r->t->events), name))
            return refuse(r, item, "events", TAKES);
        used += (size_t)snprintf(r->t->events + used, sizeof(r->t->events) - used, "%s%s",
                                 used ? "," : "", name);
        if (used >= sizeof(r->t->events))
            return refuse(r, item, "events", TAKES);
    }
    return 0;
}

/* Reads `match`. It may not name a container. Past samples have no container, so a negative matcher
 * would match all of them. */
static int take_match(const struct push_reading *r, const yaml_node_t *n)
{
    int result = yaml_part_take_matchers(r->y, n, r->t->name, "service=\"shop\"", &r->t->match);

    for (size_t i = 0; result == 0 && i < r->t->match.count; i++) {
        if (r->t->match.items[i].label == MATCHER_CONTAINER)
            result = refuse(r, n, "match",
                            "main, pod, namespace and service: the recorder keeps no container");
    }
    return result;
}

/* ---- mappings ---- */

int push_each_key(const struct push_reading *r, const yaml_node_t *n, const char *name,
                  push_key_fn fn)
{
    int result = 0;

    if (n->type != YAML_MAPPING_NODE)
        return push_refuse_secret(r, n, name, "a mapping");
    for (const yaml_node_pair_t *p = n->data.mapping.pairs.start;
         result == 0 && p < n->data.mapping.pairs.top; p++) {
        const yaml_node_t *key = yaml_document_get_node(&r->y->doc, p->key);

        for (const yaml_node_pair_t *q = n->data.mapping.pairs.start; q < p; q++) {
            if (span_eq(yaml_part_text(yaml_document_get_node(&r->y->doc, q->key)),
                        yaml_part_text(key)))
                return push_refuse_secret(r, key, name, "each key once");
        }
        result = fn(r, yaml_part_text(key), key, yaml_document_get_node(&r->y->doc, p->value));
    }
    return result;
}

static int take_path(const struct push_reading *r, struct span key, enum push_file first,
                     enum push_file last, const yaml_node_t *value)
{
    for (enum push_file f = first; f <= last; f++) {
        if (span_eq_str(key, push_file_key(f)))
            return take_line(r, value, push_file_key(f), r->t->paths[f], sizeof(r->t->paths[f]));
    }
    return 1;
}

static int basic_key(const struct push_reading *r, struct span key, const yaml_node_t *at,
                     const yaml_node_t *value)
{
    int result = take_path(r, key, PUSH_FILE_PASSWORD, PUSH_FILE_PASSWORD, value);

    if (result <= 0)
        return result;
    if (span_eq_str(key, "username")) {
        if (memchr(yaml_part_text(value).p ? yaml_part_text(value).p : "", ':',
                   yaml_part_text(value).n))
            return refuse(r, value, "username", "a name without ':'");
        return take_line(r, value, "username", r->t->user, sizeof(r->t->user));
    }
    if (span_eq_str(key, "password"))
        return take_line(r, value, "password", r->t->password, sizeof(r->t->password));
    return push_refuse_secret(r, at, "basic_auth", "username, password, password_file");
}

static int authorization_key(const struct push_reading *r, struct span key, const yaml_node_t *at,
                             const yaml_node_t *value)
{
    int result = take_path(r, key, PUSH_FILE_CREDENTIALS, PUSH_FILE_CREDENTIALS, value);

    if (result <= 0)
        return result;
    if (span_eq_str(key, "type"))
        return take_line(r, value, "type", r->t->auth_type, sizeof(r->t->auth_type));
    if (span_eq_str(key, "credentials"))
        return take_line(r, value, "credentials", r->t->credentials, sizeof(r->t->credentials));
    return push_refuse_secret(r, at, "authorization", "type, credentials, credentials_file");
}

static int tls_key(const struct push_reading *r, struct span key, const yaml_node_t *at,
                   const yaml_node_t *value)
{
    int result = take_path(r, key, PUSH_FILE_CA, PUSH_FILE_KEY, value);
    struct span s = yaml_part_text(value);

    if (result <= 0)
        return result;
    if (!span_eq_str(key, "insecure_skip_verify"))
        return refuse(r, at, "tls_config", "ca_file, cert_file, key_file, insecure_skip_verify");
    if (!span_eq_str(s, "true") && !span_eq_str(s, "false"))
        return refuse(r, value, "insecure_skip_verify", "true or false");
    r->t->insecure = span_eq_str(s, "true");
    return 0;
}

/* Returns true if @s may name a header. It must be a token, and no header that the protocol or the
 * authorization sets. */
static bool is_header_name(struct span s)
{
    static const char *const SET[] = { "content-type",
                                       "content-length",
                                       "content-encoding",
                                       "host",
                                       "transfer-encoding",
                                       "authorization",
                                       "connection",
                                       "expect",
                                       "te",
                                       "proxy-authorization",
                                       "otlp-profiles-development-version" };

    for (size_t i = 0; i < s.n; i++) {
        if (!isalnum((unsigned char)s.p[i]) && !strchr("!#$%&'*+-.^_`|~", s.p[i]))
            return false;
    }
    for (size_t i = 0; i < ARRAY_SIZE(SET); i++) {
        if (s.n == strlen(SET[i]) && strncasecmp(s.p, SET[i], s.n) == 0)
            return false;
    }
    return s.n > 0;
}

static int header_key(const struct push_reading *r, struct span key, const yaml_node_t *at,
                      const yaml_node_t *value)
{
    struct push_target *t = r->t;
    struct span v = yaml_part_text(value);

    if (!is_header_name(key) || !is_line(v, PUSH_HEADER_BYTES) ||
        key.n + v.n + 3 > PUSH_HEADER_BYTES || t->header_count == PUSH_HEADERS_MAX)
        return push_refuse_secret(
            r, at, "headers",
            "up to 16 lines Name: value, but none that flamed sets itself, such as Authorization");
    snprintf(t->headers[t->header_count++], PUSH_HEADER_BYTES, "%.*s: %.*s", (int)key.n, key.p,
             (int)v.n, v.p);
    return 0;
}

int push_target_key(const struct push_reading *r, struct span key, const yaml_node_t *at,
                    const yaml_node_t *value)
{
    struct push_target *t = r->t;

    if (span_eq_str(key, "name"))
        return 0; /* read before the other keys */
    if (span_eq_str(key, "url"))
        return take_url(r, value, "url", t->protocol == PUSH_WEBHOOK, t->url);
    if (span_eq_str(key, "protocol"))
        return take_protocol(r, value);
    if (span_eq_str(key, "every"))
        return take_duration(r, value, "every", PUSH_EVERY_MIN_NS, PUSH_EVERY_MAX_NS, &t->every_ns);
    if (span_eq_str(key, "events"))
        return take_events(r, value);
    if (span_eq_str(key, "match"))
        return take_match(r, value);
    if (span_eq_str(key, "access"))
        return yaml_part_take_name(value, t->access)
                   ? 0
                   : refuse(r, value, "access", "the name of a rule under access");
    if (span_eq_str(key, "headers"))
        return push_each_key(r, value, "headers", header_key);
    if (span_eq_str(key, "basic_auth"))
        return push_each_key(r, value, "basic_auth", basic_key);
    if (span_eq_str(key, "authorization"))
        return push_each_key(r, value, "authorization", authorization_key);
    if (span_eq_str(key, "tls_config"))
        return push_each_key(r, value, "tls_config", tls_key);
    if (span_eq_str(key, "proxy_url"))
        return take_url(r, value, "proxy_url", /* as_written= */ false, t->proxy);
    if (span_eq_str(key, "no_proxy"))
        return take_line(r, value, "no_proxy", t->no_proxy, sizeof(t->no_proxy));
    if (span_eq_str(key, "link"))
        return take_url(r, value, "link", /* as_written= */ false, t->link);
    if (span_eq_str(key, "samples"))
        return take_number(r, value, "samples", 10, PUSH_SAMPLES_MAX, &t->samples_max);
    if (span_eq_str(key, "spool_bytes"))
        return take_number(r, value, "spool_bytes", 1 << 20, UINT64_C(1) << 40, &t->spool_bytes);
    if (span_eq_str(key, "spool_age"))
        return take_duration(r, value, "spool_age", 60 * NSEC_PER_SEC, 7 * 86400 * NSEC_PER_SEC,
                             &t->spool_age_ns);
    return push_refuse_secret(r, at, "a target", KEYS_KNOWN);
}

/* ---- checks across keys ---- */

int push_target_check(const struct push_reading *r, const yaml_node_t *n)
{
    const struct push_target *t = r->t;
    bool basic = t->user[0] || t->password[0] || t->paths[PUSH_FILE_PASSWORD][0];
    bool shown = t->credentials[0] || t->paths[PUSH_FILE_CREDENTIALS][0];

    if (!t->url[0] && t->protocol == PUSH_WEBHOOK)
        return push_refuse_secret(r, n, "webhook", "a url");
    if (!t->url[0])
        return push_refuse_secret(r, n, "a target", "a name and a url");
    if (basic && (shown || t->auth_type[0]))
        return push_refuse_secret(r, n, "a target", "one of basic_auth and authorization");
    if (t->auth_type[0] && !shown)
        return push_refuse_secret(r, n, "authorization", "credentials or credentials_file");
    if ((t->password[0] && t->paths[PUSH_FILE_PASSWORD][0]) ||
        (t->credentials[0] && t->paths[PUSH_FILE_CREDENTIALS][0]))
        return push_refuse_secret(r, n, "a target", "a secret or its file");
    if (!t->paths[PUSH_FILE_CERT][0] != !t->paths[PUSH_FILE_KEY][0])
        return push_refuse_secret(r, n, "tls_config", "cert_file and key_file together");
    return 0;
}

/* Checks that the broker finds the same paths in the file. The broker has no YAML parser. */
static int check_paths(const struct yaml_part *y, struct span text, const struct push_target *t)
{
    char found[TLS_PATH_MAX + 1];

    for (enum push_file f = 0; f < PUSH_FILES; f++) {
        if (!t->paths[f][0] || (tls_path_find_pushed(text, tls_path_hash(t->paths[f]), found) &&
                                strcmp(found, t->paths[f]) == 0))
            continue;
        error_remedy(y->err, "write %s: PATH on a line of its own below push: or webhook:",
                     push_file_key(f));
        return error_set(y->err, -EINVAL, "%.128s: push: %s: %s is not written plainly", y->file,
                         t->name, push_file_key(f));
    }
    return 0;
}

const yaml_node_t *push_config_node(struct yaml_part *y, int id)
{
    return yaml_document_get_node(&y->doc, id);
}

void push_target_default(struct push_target *t)
{
    *t = (struct push_target){ .every_ns = 60 * NSEC_PER_SEC,
                               .samples_max = PUSH_SAMPLES_DEFAULT,
                               .spool_bytes = SPOOL_BYTES_DEFAULT,
                               .spool_age_ns = SPOOL_AGE_DEFAULT_NS };
}

static int read_target(struct yaml_part *y, const yaml_node_t *n, struct push_target *t)
{
    struct push_reading r = { y, t };

    push_target_default(t);
    if (n->type != YAML_MAPPING_NODE)
        return push_refuse_secret(&r, n, "push", "a list of mappings, each with a name and a url");
    for (const yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top;
         p++) {
        if (span_eq_str(yaml_part_text(yaml_document_get_node(&y->doc, p->key)), "name") &&
            !yaml_part_take_name(yaml_document_get_node(&y->doc, p->value), t->name))
            return refuse(&r, n, "name", "1 to 63 of a-z, 0-9 and '-', such as pyroscope");
    }
    if (!t->name[0])
        return push_refuse_secret(&r, n, "a target", "a name and a url");
    return push_each_key(&r, n, "a target", push_target_key);
}

static int read_targets(struct yaml_part *y, const yaml_node_t *list, struct push_config *c)
{
    if (list->type == YAML_SCALAR_NODE && list->data.scalar.length == 0)
        return 0;
    if (list->type != YAML_SEQUENCE_NODE ||
        list->data.sequence.items.top - list->data.sequence.items.start > PUSH_ENGINES_MAX)
        return yaml_part_refuse(y, list, "", "push", "a list of at most 8 targets");
    for (const yaml_node_item_t *i = list->data.sequence.items.start;
         i < list->data.sequence.items.top; i++) {
        const yaml_node_t *n = yaml_document_get_node(&y->doc, *i);
        struct push_reading r = { y, &c->targets[c->count] };
        int result = read_target(y, n, r.t);

        if (!r.t->events[0])
            snprintf(r.t->events, sizeof(r.t->events), "%s", events_default()->name);
        if (result == 0)
            result = push_target_check(&r, n);
        for (size_t k = 0; result == 0 && k < c->count; k++) {
            if (strcmp(c->targets[k].name, r.t->name) == 0)
                result = refuse(&r, n, "name", "a name that no other target has");
        }
        if (result < 0)
            return result;
        c->count++;
    }
    return 0;
}

static int read_push(struct yaml_part *y, void *cookie)
{
    const yaml_node_t *n;
    int r = yaml_part_find(y, "push", &n);

    if (r == 0 && n)
        r = read_targets(y, n, cookie);
    y->section = "webhook: ";
    return r == 0 ? push_read_webhooks(y, cookie) : r;
}

int push_config_parse(struct span text, const char *file, struct push_config **ret,
                      struct error *err)
{
    struct push_config *c = calloc(1, sizeof(*c));
    struct yaml_part y = { .file = file, .err = err, .section = "push: " };
    int r;

    if (!c)
        return error_set(err, -ENOMEM, "out of memory");
    r = yaml_part_read(&y, text, read_push, c);
    for (size_t i = 0; r == 0 && i < c->count; i++)
        r = check_paths(&y, text, &c->targets[i]);
    if (r < 0 || c->count == 0)
        c = push_config_free(c);
    if (r == 0)
        *ret = c;
    return r;
}
