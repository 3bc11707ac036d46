/* SPDX-License-Identifier: Apache-2.0 */
#include "tls_files.h"

#include "base/cleanup.h"
#include "base/log.h"

#include <sys/stat.h>

/* Returns true if users other than its owner may read or write the file @fd. */
static bool is_open_to_others(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_mode & 077;
}

static int read_one(struct engine *e, const struct tls_config *c, enum tls_file which,
                    struct buf *ret, bool *ret_open, struct error *err)
{
    _cleanup_close_ int fd = -1;
    int r = engine_open_config(e, which, &fd, err);

    if (r > 0) {
        error_remedy(err, "start flamed again; under systemd, flamed-broker has to have the same "
                          "--config");
        return error_set(err, -ENOENT, "flamed-broker finds no %s in its configuration",
                         tls_file_key(which));
    }
    if (r < 0)
        return r;
    *ret_open = is_open_to_others(fd);
    r = buf_read_fd(ret, fd);
    return r < 0 ? error_code(err, r, "cannot read '%.128s'", c->paths[which]) : 0;
}

static int read_all(struct engine *e, const struct tls_config *c, struct tls_material *m,
                    bool *ret_key_open, struct error *err)
{
    bool open = false;
    int r = 0;

    for (enum tls_file which = TLS_FILE_CERT; r == 0 && which < TLS_FILE_END; which++) {
        if (c->paths[which][0])
            r = read_one(e, c, which, &m->files[which], &open, err);
        if (which == TLS_FILE_KEY)
            *ret_key_open = open;
    }
    return r;
}

int tls_files_look(struct engine *e, const struct tls_config *c, const struct tls *now,
                   struct tls **ret, struct error *err)
{
    struct tls_material m;
    bool key_open = false;
    int r;

    tls_material_init(&m);
    r = read_all(e, c, &m, &key_open, err);
    if (r == 0 && now && tls_is_of(now, &m))
        r = 1;
    if (r == 0)
        r = tls_new(c, &m, ret, err);
    if (r == 0 && key_open)
        log_warn("the key of tls_server_config, '%.200s', is not its owner's alone: "
                 "its readers can pass for flamed: chmod 0600 it",
                 c->paths[TLS_FILE_KEY]);
    tls_material_deinit(&m);
    return r;
}

int tls_files_load(struct engine *e, const struct tls_config *c, struct tls **ret,
                   struct error *err)
{
    return tls_files_look(e, c, /* now= */ NULL, ret, err);
}
