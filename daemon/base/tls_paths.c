/* SPDX-License-Identifier: Apache-2.0 */
#include "base/tls_paths.h"

#include "base/fnv1a.h"

#define SECTION "tls_server_config:"

const char *tls_file_key(enum tls_file which)
{
    static const char *const KEYS[TLS_FILE_END] = { [TLS_FILE_CERT] = "cert_file",
                                                    [TLS_FILE_KEY] = "key_file",
                                                    [TLS_FILE_CLIENT_CA] = "client_ca_file" };

    return KEYS[which];
}

/* Returns whether @s is empty or a comment. */
static bool is_comment(struct span s)
{
    s = span_trim(s);
    return s.n == 0 || s.p[0] == '#';
}

static bool take_quoted(struct span s, char quote, struct span *ret)
{
    struct span inner = span_from(s, 1);
    size_t end = span_find(inner, quote);

    if (end == inner.n || !is_comment(span_from(inner, end + 1)))
        return false;
    inner.n = end;
    if (span_find(inner, '\\') < inner.n)
        return false;
    *ret = inner;
    return true;
}

static bool take_plain(struct span s, struct span *ret)
{
    static const char INDICATORS[] = "|>&*{}[]!%@`#,?:-";

    for (size_t i = 1; i < s.n; i++) {
        if (s.p[i] == '#' && (s.p[i - 1] == ' ' || s.p[i - 1] == '\t')) {
            s.n = i;
            break;
        }
    }
    s = span_trim(s);
    if (!s.n || strchr(INDICATORS, s.p[0]) || memmem(s.p, s.n, ": ", 2))
        return false;
    *ret = s;
    return true;
}

static bool take_value(struct span s, char ret[TLS_PATH_MAX + 1])
{
    struct span value;

    s = span_trim(s);
    if (!s.n ||
        !(s.p[0] == '"' || s.p[0] == '\'' ? take_quoted(s, s.p[0], &value) : take_plain(s, &value)))
        return false;
    if (!value.n || value.n > TLS_PATH_MAX || memchr(value.p, 0, value.n))
        return false;
    span_copy(value, ret, TLS_PATH_MAX + 1);
    return true;
}

bool tls_path_find(struct span text, enum tls_file which, char ret[TLS_PATH_MAX + 1])
{
    const char *key = tls_file_key(which);
    bool inside = false;
    struct span line;

    while (span_take_line(&text, &line)) {
        struct span rest = line;

        if (is_comment(line))
            continue;
        if (line.p[0] != ' ') {
            inside = span_take_str(&rest, SECTION) && is_comment(rest);
            continue;
        }
        rest = span_trim(line);
        if (inside && key && span_take_str(&rest, key) && span_take_char(&rest, ':') &&
            span_starts_with(rest, " "))
            return take_value(rest, ret);
    }
    return false;
}

uint32_t tls_path_hash(const char *path)
{
    uint64_t h = fnv1a(FNV1A_START, path, strlen(path));
    uint32_t folded = (uint32_t)(h ^ h >> 32);

    return folded ? folded : 1;
}

/* Takes "KEY_file:" off the front of @line, also behind the "- " of a list's first line. */
static bool take_file_key(struct span *line)
{
    struct span rest = span_trim(*line);
    size_t colon;

    if (span_take_str(&rest, "- "))
        rest = span_trim(rest);
    colon = span_find(rest, ':');
    if (colon == rest.n || !span_ends_with((struct span){ rest.p, colon }, "_file"))
        return false;
    for (size_t i = 0; i < colon; i++) { /* the colon does not count in a comment or in quotes */
        if (rest.p[i] != '_' && (rest.p[i] < 'a' || rest.p[i] > 'z'))
            return false;
    }
    *line = span_from(rest, colon + 1);
    return span_starts_with(*line, " ");
}

bool tls_path_find_pushed(struct span text, uint32_t hash, char ret[TLS_PATH_MAX + 1])
{
    bool inside = false;
    struct span line;

    while (span_take_line(&text, &line)) {
        struct span rest = line;
        char path[TLS_PATH_MAX + 1];

        if (is_comment(line))
            continue;
        if (line.p[0] != ' ' && line.p[0] != '-') {
            inside = (span_take_str(&rest, "push:") || span_take_str(&rest, "triggers:")) &&
                     is_comment(rest);
            continue;
        }
        if (inside && take_file_key(&rest) && take_value(rest, path) &&
            tls_path_hash(path) == hash) {
            memcpy(ret, path, sizeof(path));
            return true;
        }
    }
    return false;
}

bool tls_path_beside(const char *config, const char *path, char ret[TLS_PATH_MAX + 1])
{
    struct span folder = span_of(config);

    folder.n = path[0] == '/' ? 0 : span_rfind(folder, '/') + 1;
    if (folder.n > strlen(config) || folder.n + strlen(path) > TLS_PATH_MAX)
        return false;
    memcpy(ret, folder.p, folder.n);
    memcpy(ret + folder.n, path, strlen(path) + 1);
    return true;
}
