/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/tls/tls_config.h"

#include "yaml/yaml_part.h"

#define KEYS_KNOWN "cert_file, key_file, client_auth_type, client_ca_file, min_version, max_version"

static int take_path(struct yaml_part *y, const yaml_node_t *at, enum tls_file which,
                     struct tls_config *c)
{
    struct span v = yaml_part_text(at);

    if (!v.n || v.n > TLS_PATH_MAX || memchr(v.p, 0, v.n))
        return yaml_part_refuse(y, at, "", tls_file_key(which), "the path of a file in PEM");
    span_copy(v, c->paths[which], sizeof(c->paths[which]));
    return 0;
}

static int take_version(struct yaml_part *y, const yaml_node_t *at, const char *key,
                        enum tls_version *ret)
{
    struct span v = yaml_part_text(at);

    if (!span_eq_str(v, "TLS12") && !span_eq_str(v, "TLS13"))
        return yaml_part_refuse(y, at, "", key, "TLS12 or TLS13: older versions are not spoken");
    *ret = span_eq_str(v, "TLS13") ? TLS_VERSION_13 : TLS_VERSION_12;
    return 0;
}

static int take_client_auth(struct yaml_part *y, const yaml_node_t *at, struct tls_config *c)
{
    static const char *const WORDS[] = {
        [TLS_CLIENT_NONE] = "NoClientCert",
        [TLS_CLIENT_REQUEST] = "RequestClientCert",
        [TLS_CLIENT_REQUIRE_ANY] = "RequireAnyClientCert",
        [TLS_CLIENT_VERIFY_IF_GIVEN] = "VerifyClientCertIfGiven",
        [TLS_CLIENT_REQUIRE] = "RequireAndVerifyClientCert",
    };

    for (size_t i = 0; i < ARRAY_SIZE(WORDS); i++) {
        if (span_eq_str(yaml_part_text(at), WORDS[i])) {
            c->client_auth = (enum tls_client_auth)i;
            return 0;
        }
    }
    return yaml_part_refuse(y, at, "", "client_auth_type",
                            "NoClientCert, RequestClientCert, RequireAnyClientCert, "
                            "VerifyClientCertIfGiven or RequireAndVerifyClientCert");
}

static int take_key(struct yaml_part *y, const yaml_node_t *key, const yaml_node_t *value,
                    void *cookie)
{
    struct tls_config *c = cookie;
    struct span k = yaml_part_text(key);

    for (enum tls_file which = TLS_FILE_CERT; which < TLS_FILE_END; which++) {
        if (span_eq_str(k, tls_file_key(which)))
            return take_path(y, value, which, c);
    }
    if (span_eq_str(k, "client_auth_type"))
        return take_client_auth(y, value, c);
    if (span_eq_str(k, "min_version"))
        return take_version(y, value, "min_version", &c->min_version);
    if (span_eq_str(k, "max_version"))
        return take_version(y, value, "max_version", &c->max_version);
    return yaml_part_refuse(y, key, "", "tls_server_config", KEYS_KNOWN);
}

/* Checks that tls_path_find() finds the same paths: the broker uses it, without a YAML parser. */
static int check_paths(const struct yaml_part *y, struct span text, const struct tls_config *c)
{
    char found[TLS_PATH_MAX + 1];

    for (enum tls_file which = TLS_FILE_CERT; which < TLS_FILE_END; which++) {
        if (!tls_path_find(text, which, found))
            found[0] = '\0';
        if (strcmp(found, c->paths[which]) == 0)
            continue;
        error_remedy(y->err,
                     "write tls_server_config: on a line of its own, and below it, "
                     "indented, %s: PATH",
                     tls_file_key(which));
        return error_set(y->err, -EINVAL, "%.128s: tls_server_config: %s is not written plainly",
                         y->file, tls_file_key(which));
    }
    return 0;
}

static int check(const struct yaml_part *y, struct span text, const struct tls_config *c)
{
    if (!c->paths[TLS_FILE_CERT][0] || !c->paths[TLS_FILE_KEY][0])
        return error_set(y->err, -EINVAL, "%.128s: tls_server_config takes cert_file and key_file",
                         y->file);
    if (c->min_version > c->max_version)
        return error_set(y->err, -EINVAL,
                         "%.128s: tls_server_config: min_version is above max_version", y->file);
    if (tls_config_verifies(c) != (c->paths[TLS_FILE_CLIENT_CA][0] != '\0'))
        return error_set(y->err, -EINVAL,
                         "%.128s: tls_server_config: client_ca_file goes with client_auth_type: "
                         "VerifyClientCertIfGiven or RequireAndVerifyClientCert, and they with it",
                         y->file);
    return check_paths(y, text, c);
}

int tls_config_parse(struct span text, const char *file, struct tls_config **ret, struct error *err)
{
    struct tls_config *c = calloc(1, sizeof(*c));
    struct yaml_part y = { .file = file, .err = err };
    bool found = false;
    int r;

    if (!c)
        return error_set(err, -ENOMEM, "out of memory");
    c->max_version = TLS_VERSION_13;
    r = yaml_part_mapping(&y, text, "tls_server_config", take_key, c, &found);
    if (r == 0 && found)
        r = check(&y, text, c);
    if (r < 0 || !found) {
        free(c);
        c = NULL;
    }
    if (r == 0)
        *ret = c;
    return r;
}
