/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "push/export.h"
#include "push/push_impl.h"

#define SECRET_FILE_BYTES ((size_t)256 << 10)

static void add_word(struct buf *out, const char *key, const char *value)
{
    if (!value[0])
        return;
    buf_printf(out, "%s=%s", key, value);
    buf_add_char(out, '\0');
}

/* Reads a file that a target names. Drops the line end after a secret. */
static int read_file(const struct push *p, const struct push_target *t, enum push_file file,
                     struct buf *ret, struct error *err)
{
    _cleanup_close_ int fd = -1;
    int r;

    if (!t->paths[file][0])
        return 0;
    r = p->o.open_file(p->o.cookie, t->paths[file], &fd, err);
    if (r > 0)
        return error_set(err, -ENOENT, "flamed-broker finds no %s of '%s' in its configuration",
                         push_file_key(file), t->name);
    if (r == 0)
        r = buf_read_fd(ret, fd);
    if (r < 0)
        return err->msg[0] ? r : error_code(err, r, "cannot read the %s", push_file_key(file));
    while (file <= PUSH_FILE_CREDENTIALS && ret->n &&
           (ret->p[ret->n - 1] == '\n' || ret->p[ret->n - 1] == '\r'))
        ret->p[--ret->n] = '\0';
    if (memchr(ret->p ? ret->p : "", '\0', ret->n) ||
        (file <= PUSH_FILE_CREDENTIALS && strpbrk(ret->p ? ret->p : "", "\r\n")))
        return error_set(err, -EINVAL, "the %s holds more than a line of text",
                         push_file_key(file));
    return 0;
}

/* Reads a secret that the configuration gives as text or as a file. */
static int read_secret(const struct push *p, const struct push_target *t, const char *given,
                       enum push_file file, struct buf *ret, struct error *err)
{
    buf_add_str(ret, given);
    return given[0] ? 0 : read_file(p, t, file, ret, err);
}

static void wipe(struct buf *b)
{
    if (b->p)
        explicit_bzero(b->p, b->cap);
    buf_deinit(b);
}

static int add_secrets(const struct push *p, const struct push_target *t, struct buf *out,
                       struct error *err)
{
    _cleanup_(wipe) struct buf secret = BUF_NULL;
    int r;

    buf_init(&secret, PUSH_SECRET_MAX + 1);
    r = read_secret(p, t, t->password, PUSH_FILE_PASSWORD, &secret, err);
    if (r == 0 && secret.n)
        add_word(out, "password", secret.p);
    buf_clear(&secret);
    if (r == 0)
        r = read_secret(p, t, t->credentials, PUSH_FILE_CREDENTIALS, &secret, err);
    if (r == 0 && secret.n) {
        buf_printf(out, "header=Authorization: %s %s", t->auth_type[0] ? t->auth_type : "Bearer",
                   secret.p);
        buf_add_char(out, '\0');
    }
    return r;
}

static int add_pems(const struct push *p, const struct push_target *t, struct buf *out,
                    struct error *err)
{
    static const char *const WORDS[PUSH_FILES] = {
        [PUSH_FILE_CA] = "ca", [PUSH_FILE_CERT] = "cert", [PUSH_FILE_KEY] = "key"
    };
    int r = 0;

    for (enum push_file f = PUSH_FILE_CA; r == 0 && f < PUSH_FILES; f++) {
        _cleanup_(wipe) struct buf pem = BUF_NULL;

        buf_init(&pem, SECRET_FILE_BYTES);
        r = read_file(p, t, f, &pem, err);
        if (r == 0 && pem.n)
            add_word(out, WORDS[f], pem.p);
    }
    return r;
}

int push_words(const struct push *p, const struct push_target *t, struct buf *out,
               struct error *err)
{
    const struct export_request *request = &EXPORT_REQUESTS[t->protocol];
    int r;

    wipe(out);
    buf_init(out, PUSHER_BODY_MAX / 2);
    buf_printf(out, "url=%s%s", t->url, request->path);
    buf_add_char(out, '\0');
    for (size_t i = 0; i < EXPORT_HEADERS_MAX && request->headers[i]; i++)
        add_word(out, "header", request->headers[i]);
    if (t->protocol == PUSH_WEBHOOK)
        add_word(out, "plain", "1");
    for (size_t i = 0; i < t->header_count; i++)
        add_word(out, "header", t->headers[i]);
    add_word(out, "user", t->user);
    add_word(out, "proxy", t->proxy);
    add_word(out, "no_proxy", t->no_proxy);
    if (t->insecure)
        add_word(out, "insecure", "1");
    r = add_secrets(p, t, out, err) ?: add_pems(p, t, out, err);
    return r < 0 ? r : out->error;
}
