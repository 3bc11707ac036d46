/* SPDX-License-Identifier: Apache-2.0 */
#include "discover/service.h"

#include "base/text.h"
#include "discover/discover.h"

/* ---- what the process says of itself ---- */

enum field { NAME, VERSION, ENVIRONMENT, INSTANCE, SPACE, REPOSITORY, REVISION, FIELDS };

/* Returns the buffer for the value of @field, and gets its size. */
static char *field_of(struct service *s, enum field field, size_t *ret_size)
{
    switch (field) {
    case VERSION:
        *ret_size = sizeof(s->version);
        return s->version;
    case ENVIRONMENT:
        *ret_size = sizeof(s->environment);
        return s->environment;
    case INSTANCE:
        *ret_size = sizeof(s->instance);
        return s->instance;
    case SPACE:
        *ret_size = sizeof(s->space);
        return s->space;
    case REPOSITORY:
        *ret_size = sizeof(s->repository);
        return s->repository;
    case REVISION:
        *ret_size = sizeof(s->revision);
        return s->revision;
    default:
        *ret_size = sizeof(s->name);
        return s->name;
    }
}

/* A value with @prefix is for @field. If two values are for one field, the smaller rank counts. */
struct key {
    const char *prefix; /* the key with its '=' */
    enum field field;
    unsigned rank;
};

static const struct key OPTIONS[] = {
    { "-Dotel.service.name=", NAME, 2 },
    { "-Ddd.service=", NAME, 4 },
    { "-Ddd.version=", VERSION, 4 },
    { "-Ddd.env=", ENVIRONMENT, 4 },
};
static const struct key WORDS[] = {
    { "OTEL_SERVICE_NAME=", NAME, 5 },
    { "DD_SERVICE=", NAME, 7 },
    { "DD_VERSION=", VERSION, 7 },
    { "DD_ENV=", ENVIRONMENT, 7 },
    { "DD_GIT_REPOSITORY_URL=", REPOSITORY, 7 },
    { "DD_GIT_COMMIT_SHA=", REVISION, 7 },
};
/* Attributes in the semantic conventions of OpenTelemetry. */
static const struct key ATTRIBUTES[] = {
    { "service.name=", NAME, 0 },
    { "service.version=", VERSION, 0 },
    { "deployment.environment.name=", ENVIRONMENT, 0 },
    { "deployment.environment=", ENVIRONMENT, 0 },
    { "service.instance.id=", INSTANCE, 0 },
    { "service.namespace=", SPACE, 0 },
    { "vcs.repository.url.full=", REPOSITORY, 0 },
    { "vcs.ref.head.revision=", REVISION, 0 },
};

#define RANK_OF_PUBLISHED 1
#define RANK_OF_OPTION_ATTRIBUTES 3
#define RANK_OF_WORD_ATTRIBUTES 6
#define RANK_LAST_OF_OPTIONS 4

struct reader {
    struct service *service;
    unsigned ranks[FIELDS]; /* rank of the value taken for each field; 0: none */
    bool decode;            /* values have percent signs to decode */
};

/* Decodes "%2C" by the rules of W3C baggage; another percent sign stays. */
static struct span decode(struct span s, char buf[SERVICE_NAME_BYTES])
{
    size_t n = 0;

    for (size_t i = 0; i < s.n && n < SERVICE_NAME_BYTES; i++) {
        int high = s.p[i] == '%' && i + 2 < s.n ? hex_value(s.p[i + 1]) : -1;
        int low = high >= 0 ? hex_value(s.p[i + 2]) : -1;

        buf[n++] = low >= 0 ? (char)(high << 4 | low) : s.p[i];
        i += low >= 0 ? 2 : 0;
    }
    return (struct span){ buf, n };
}

/* Gets the address of a repository without its user, password and query: "https://u:p@host/shop?x"
 * gives "https://host/shop". SPAN_NULL: the address is too long, so that its end may be missing, or
 * it still has an '@'. */
static struct span public_address(struct span s, char buf[SERVICE_NAME_BYTES])
{
    size_t colon = span_find(s, ':'), host;
    struct span rest, name;

    if (s.n >= SERVICE_NAME_BYTES)
        return SPAN_NULL;
    host = s.n >= 3 && colon <= s.n - 3 && memcmp(s.p + colon, "://", 3) == 0 ? colon + 3 : 0;
    rest = name = span_from(s, host);
    name.n = span_find(name, '/');
    if (span_find(name, '@') < name.n)
        rest = span_from(rest, span_rfind(name, '@') + 1);
    if (span_find(rest, '@') < rest.n)
        return SPAN_NULL;
    rest.n = MIN(span_find(rest, '?'), span_find(rest, '#'));
    if (!rest.n)
        return SPAN_NULL;
    memcpy(buf, s.p, host);
    memcpy(buf + host, rest.p, rest.n);
    return (struct span){ buf, host + rest.n };
}

static void take(struct reader *r, struct span value, const struct key *k, unsigned rank)
{
    unsigned *have = &r->ranks[k->field];
    char plain[SERVICE_NAME_BYTES], address[SERVICE_NAME_BYTES], *to;
    size_t size;

    value = span_trim(r->decode ? decode(value, plain) : value);
    if (k->field == REPOSITORY)
        value = public_address(value, address);
    if (!value.n || (*have && *have <= rank))
        return;
    *have = rank;
    to = field_of(r->service, k->field, &size);
    text_clean_into(value, to, size);
}

static void take_word(struct reader *r, struct span word, const struct key *keys, size_t count,
                      unsigned rank)
{
    for (size_t i = 0; i < count; i++) {
        if (span_take_str(&word, keys[i].prefix)) {
            take(r, word, &keys[i], keys[i].rank ? keys[i].rank : rank);
            return;
        }
    }
}

/* Takes "service.name=shop,service.version=2.4". */
static void take_attributes(struct reader *r, struct span text, unsigned rank)
{
    struct span one;

    r->decode = true;
    while (span_take_until(&text, ',', &one))
        take_word(r, span_trim(one), ATTRIBUTES, ARRAY_SIZE(ATTRIBUTES), rank);
    r->decode = false;
}

static void take_options(struct reader *r, struct span options)
{
    struct span word;

    while (span_take_until(&options, '\0', &word)) {
        if (span_take_str(&word, "-Dotel.resource.attributes="))
            take_attributes(r, word, RANK_OF_OPTION_ATTRIBUTES);
        else
            take_word(r, word, OPTIONS, ARRAY_SIZE(OPTIONS), 0);
    }
}

static enum service_source source_of_rank(unsigned rank)
{
    return !rank                          ? SERVICE_UNKNOWN
           : rank == RANK_OF_PUBLISHED    ? SERVICE_CONTEXT
           : rank <= RANK_LAST_OF_OPTIONS ? SERVICE_PROPERTY
                                          : SERVICE_ENVIRON;
}

void service_of_words(struct span published, struct span options, struct span words,
                      struct service *ret)
{
    struct reader r = { .service = ret };
    struct span word, all = words;

    *ret = (struct service){ 0 };
    while (span_take_until(&published, '\0', &word))
        take_word(&r, word, ATTRIBUTES, ARRAY_SIZE(ATTRIBUTES), RANK_OF_PUBLISHED);
    take_options(&r, options);
    take_options(&r, words); /* options in JAVA_TOOL_OPTIONS */
    while (span_take_until(&all, '\0', &word)) {
        if (span_take_str(&word, "OTEL_RESOURCE_ATTRIBUTES="))
            take_attributes(&r, word, RANK_OF_WORD_ATTRIBUTES);
        else
            take_word(&r, word, WORDS, ARRAY_SIZE(WORDS), 0);
    }
    ret->source = source_of_rank(r.ranks[NAME]);
}

/* ---- what the node says of it ---- */

/* Returns true if Kubernetes may have appended @s to a name: it uses only these letters
 * (k8s.io/apimachinery/pkg/util/rand). */
static bool is_random(struct span s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '\0' || !strchr("bcdfghjklmnpqrstvwxz2456789", s.p[i]))
            return false;
    }
    return s.n > 0;
}

static bool is_number(struct span s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    }
    return s.n > 0;
}

/* Takes the part behind the last '-' off @s. Returns false if nothing would be left. */
static bool take_end(struct span *s, struct span *ret)
{
    size_t dash = span_rfind(*s, '-');

    if (dash == 0 || dash >= s->n)
        return false;
    *ret = span_from(*s, dash + 1);
    s->n = dash;
    return true;
}

struct span service_workload(struct span pod)
{
    struct span rest = pod, end, hash;

    if (!take_end(&rest, &end))
        return pod;
    if (end.n == 5 && is_random(end)) { /* a pod of a ReplicaSet, a DaemonSet or a Job */
        struct span shorter = rest;

        if (take_end(&shorter, &hash) && hash.n >= 6 && hash.n <= 10 &&
            (is_random(hash) || is_number(hash)))
            return shorter; /* a pod of a Deployment's ReplicaSet, or of a CronJob's Job */
        return rest;
    }
    return is_number(end) ? rest : pod; /* a pod of a StatefulSet */
}

struct span service_unit(struct span cgroup)
{
    struct span part, unit = SPAN_NULL;

    while (span_take_until(&cgroup, '/', &part)) {
        if (span_ends_with(part, ".service") && !span_starts_with(part, "user@"))
            unit = (struct span){ part.p, part.n - strlen(".service") };
    }
    return unit;
}

struct span service_program(struct span main)
{
    struct span s = span_base_name(main); /* the name of a jar, or of module/class */

    if (span_ends_with(s, ".jar"))
        s.n -= strlen(".jar");
    else if (span_rfind(s, '.') < s.n)
        s = span_from(s, span_rfind(s, '.') + 1);
    return s;
}

/* Sets the name in @ret by the first source that has one. */
static void name_by_node(const struct process *p, struct service *ret)
{
    const struct container *c = &p->container;
    const struct {
        enum service_source source;
        struct span name;
    } names[] = {
        { SERVICE_KUBERNETES, service_workload(span_of(c->pod_name)) },
        { SERVICE_CONTAINER, span_of(c->name) },
        { SERVICE_UNIT, c->id[0] ? SPAN_NULL : service_unit(span_of(p->cgroup)) },
        { SERVICE_MAIN, service_program(span_of(p->main)) },
        { SERVICE_MAIN, span_of(p->comm) },
    };

    for (size_t i = 0; i < ARRAY_SIZE(names) && !ret->name[0]; i++) {
        text_clean_into(names[i].name, ret->name, sizeof(ret->name));
        ret->source = names[i].source;
    }
}

void service_of_process(const struct process *p, struct service *ret)
{
    *ret = p->service ? *p->service : (struct service){ 0 };
    if (!ret->name[0])
        name_by_node(p, ret);
    if (!ret->version[0] && p->container.image_version[0]) {
        text_clean_into(span_of(p->container.image_version), ret->version, sizeof(ret->version));
        ret->version_source = VERSION_OF_IMAGE;
    } else if (!ret->version[0] && ret->jar.facts.version[0]) {
        memcpy(ret->version, ret->jar.facts.version, sizeof(ret->version));
        ret->version_source = VERSION_OF_JAR;
    }
    if (!ret->instance[0])
        text_clean_into(span_of(container_pod(&p->container)), ret->instance,
                        sizeof(ret->instance));
}

void service_name_of_process(const struct process *p, char ret[SERVICE_NAME_BYTES])
{
    struct service s;

    service_of_process(p, &s);
    memcpy(ret, s.name, SERVICE_NAME_BYTES);
}

const char *service_source_name(enum service_source source)
{
    static const char *const NAMES[] = {
        [SERVICE_UNKNOWN] = "",
        [SERVICE_CONTEXT] = "context",
        [SERVICE_PROPERTY] = "property",
        [SERVICE_ENVIRON] = "environ",
        [SERVICE_KUBERNETES] = "kubernetes",
        [SERVICE_CONTAINER] = "container",
        [SERVICE_UNIT] = "unit",
        [SERVICE_MAIN] = "main",
    };

    return NAMES[source];
}

const char *version_source_name(enum version_source source)
{
    static const char *const NAMES[] = {
        [VERSION_OF_PROCESS] = "",
        [VERSION_OF_IMAGE] = "image",
        [VERSION_OF_JAR] = "jar",
    };

    return NAMES[source];
}
