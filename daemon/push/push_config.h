/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The targets under `push` of the configuration, with the keys that Prometheus uses for HTTP
 * clients. The webhooks of `triggers` are targets with the same keys. Immutable once read; thread:
 * any.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/tls_paths.h"
#include "request/matcher.h"

#define PUSH_ENGINES_MAX 8
#define PUSH_WEBHOOKS_MAX 16
#define PUSH_TARGETS_MAX (PUSH_ENGINES_MAX + PUSH_WEBHOOKS_MAX)
#define PUSH_NAME_MAX 63
#define PUSH_URL_MAX 1023
#define PUSH_HEADERS_MAX 16
#define PUSH_HEADER_BYTES 1024 /* "Name: value", with the NUL */
#define PUSH_SECRET_MAX 4095   /* bytes of a password or of credentials */
#define PUSH_EVENTS_BYTES 160
#define PUSH_SAMPLES_DEFAULT 2000
#define PUSH_SAMPLES_MAX 15999 /* Pyroscope accepts 16,000 stacks, with [other] */
#define PUSH_EVERY_MIN_NS (5 * NSEC_PER_SEC)
#define PUSH_EVERY_MAX_NS (3600 * NSEC_PER_SEC)

enum push_protocol { PUSH_OTLP, PUSH_PYROSCOPE, PUSH_WEBHOOK };

/* The files that a target names. flamed-broker opens them. */
enum push_file {
    PUSH_FILE_PASSWORD,
    PUSH_FILE_CREDENTIALS,
    PUSH_FILE_CA,
    PUSH_FILE_CERT,
    PUSH_FILE_KEY,
    PUSH_FILES
};

/* One target. Texts are "" if the configuration does not have them. */
struct push_target {
    char name[PUSH_NAME_MAX + 1]; /* [a-z0-9-], unique; a webhook has the name of its trigger */
    char url[PUSH_URL_MAX + 1];   /* without the protocol's path and without '/' at the end; of a
                                   * webhook: as written */
    enum push_protocol protocol;
    uint64_t every_ns;
    char events[PUSH_EVENTS_BYTES]; /* names, with commas between them */
    struct matcher_list match;
    char access[PUSH_NAME_MAX + 1]; /* the rule of `access` that limits what is sent; "": none */
    char headers[PUSH_HEADERS_MAX][PUSH_HEADER_BYTES];
    size_t header_count;
    char user[256], password[PUSH_SECRET_MAX + 1];        /* basic_auth */
    char auth_type[32], credentials[PUSH_SECRET_MAX + 1]; /* authorization */
    char paths[PUSH_FILES][TLS_PATH_MAX + 1];             /* paths of files, as written */
    char proxy[PUSH_URL_MAX + 1], no_proxy[PUSH_URL_MAX + 1];
    bool insecure;               /* insecure_skip_verify */
    char link[PUSH_URL_MAX + 1]; /* address of this flamed for browsers, sent as flamed.url */
    uint64_t samples_max;        /* stacks per service, event and minute */
    uint64_t spool_bytes, spool_age_ns;
};

struct push_config {
    struct push_target targets[PUSH_TARGETS_MAX];
    size_t count;
};

/* Returns the key that names @file, such as "password_file". Literal. */
const char *push_file_key(enum push_file file);
/* Returns "otlp", "pyroscope" or "webhook". Literal. */
const char *push_protocol_name(enum push_protocol protocol);

/* Reads `push` and webhooks from the YAML document @text and ignores all other keys. @file appears
 * in error messages, which show no secret. Returns 0 and *ret (owned; NULL: no targets), -EINVAL
 * with a message, or -ENOMEM. */
int push_config_parse(struct span text, const char *file, struct push_config **ret,
                      struct error *err);
/* Appends which targets and webhooks differ between @a and @b, with commas between them. Each may
 * be NULL. The text has names and no secret. */
void push_config_differences(const struct push_config *a, const struct push_config *b,
                             struct buf *out);
/* Frees @c, which may be NULL. Returns NULL. */
struct push_config *push_config_free(struct push_config *c);
