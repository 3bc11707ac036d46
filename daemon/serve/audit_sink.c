/* SPDX-License-Identifier: Apache-2.0 */
/* Writes lines of the audit to the journal, as fields, and to a file. */
#include "serve/audit_impl.h"

#include "base/cleanup.h"
#include "base/lock.h"
#include "base/log.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

int audit_journal_open(const char *path)
{
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    _cleanup_close_ int fd = -1;

    if (!path || strlen(path) >= sizeof(sa.sun_path))
        return -1;
    span_copy(span_of(path), sa.sun_path, sizeof(sa.sun_path));
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&sa, sizeof(sa)) < 0)
        return -1;
    return take_fd(&fd);
}

/* Fields of the journal after MESSAGE. A member with no value or several values gets no field. */
static const struct {
    const char *field, *member;
    bool of_target;
} FIELDS[] = {
    { "FLAMED_ACTION", "action", false },
    { "FLAMED_SUBJECT", "subject", false },
    { "FLAMED_KNOWN_BY", "known_by", false },
    { "FLAMED_VIA", "via", false },
    { "FLAMED_ADDRESS", "address", false },
    { "FLAMED_CLAIMED", "claimed", false },
    { "FLAMED_ROUTE", "route", false },
    { "FLAMED_CAPTURE", "capture", false },
    { "FLAMED_STATUS", "status", false },
    { "FLAMED_TARGET_PID", "pid", true },
    { "FLAMED_TARGET_UID", "uid", true },
    { "FLAMED_TARGET_MAIN", "main", true },
    { "FLAMED_TARGET_CONTAINER", "container_id", true },
    { "FLAMED_TARGET_POD", "pod_name", true },
    { "FLAMED_TARGET_NAMESPACE", "pod_namespace", true },
};

/* Appends one line. Line breaks in @value are replaced: each would begin another field. */
static void add_field(struct buf *out, const char *field, const json_t *value)
{
    const char *text = json_string_value(value);

    if (json_is_array(value) && json_array_size(value) == 1)
        value = json_array_get(value, 0);
    if (json_is_integer(value)) {
        buf_printf(out, "%s=%lld\n", field, (long long)json_integer_value(value));
        return;
    }
    if (!text)
        return;
    buf_printf(out, "%s=", field);
    for (; *text; text++)
        buf_add_char(out, (unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text);
    buf_add_char(out, '\n');
}

bool audit_sink_journal(const struct audit_sink *s, const char *line)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(AUDIT_JOURNAL_MAX_BYTES);
    json_t *value;
    bool sent;

    if (s->journal_fd < 0)
        return false;
    buf_printf(&text, "PRIORITY=6\nSYSLOG_IDENTIFIER=flamed\nMESSAGE=audit %s\n", line);
    value = json_loads(line, 0, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(FIELDS); i++)
        add_field(&text, FIELDS[i].field,
                  json_object_get(FIELDS[i].of_target ? json_object_get(value, "target") : value,
                                  FIELDS[i].member));
    json_decref(value);
    sent = !text.error && send(s->journal_fd, text.p, text.n, MSG_NOSIGNAL) == (ssize_t)text.n;
    return sent;
}

/* Writes the missing end of the last line to the file. False: some of it is still missing. */
static bool mend_line(struct audit_sink *s)
{
    size_t length = s->torn ? strlen(s->torn) : 0;
    ssize_t n = length ? write(s->file_fd, s->torn, length) : 0;

    if (n > 0)
        memmove(s->torn, s->torn + n, length - (size_t)n + 1);
    if (n < 0 || (size_t)n < length)
        return false;
    free(s->torn);
    s->torn = NULL;
    return true;
}

/* Writes @line to the file. A full disk may take a part of it; the rest precedes the next line. */
static bool write_line(struct audit_sink *s, const char *line)
{
    size_t length = strlen(line);
    struct iovec parts[] = { { (char *)(uintptr_t)line, length }, { (char *)(uintptr_t) "\n", 1 } };
    ssize_t n;

    if (!mend_line(s))
        return false;
    n = writev(s->file_fd, parts, ARRAY_SIZE(parts));
    if (n > 0 && (size_t)n <= length && asprintf(&s->torn, "%s\n", line + n) < 0)
        s->torn = NULL;
    return n > 0;
}

void audit_sink_append(struct audit_sink *s, const char *line)
{
    bool failed;
    int r;

    pthread_mutex_lock(&s->lock);
    failed = s->file_fd >= 0 && !write_line(s, line);
    r = failed ? -errno : 0;
    s->unwritten += failed;
    pthread_mutex_unlock(&s->lock);
    if (failed && log_limit())
        log_err_errno(r, "cannot write to the audit log");
}

void audit_sink_set_file(struct audit_sink *s, int fd)
{
    int old;

    pthread_mutex_lock(&s->lock);
    if (s->file_fd >= 0)
        mend_line(s);
    free(s->torn);
    s->torn = NULL;
    old = s->file_fd;
    s->file_fd = fd;
    pthread_mutex_unlock(&s->lock);
    close_fd(old);
}

void audit_sink_init(struct audit_sink *s, int file_fd, int journal_fd)
{
    pthread_mutex_init(&s->lock, NULL);
    s->file_fd = file_fd > 0 ? file_fd : -1;
    s->journal_fd = journal_fd > 0 ? journal_fd : -1;
}

void audit_sink_deinit(struct audit_sink *s)
{
    free(s->torn);
    close_fd(s->file_fd);
    close_fd(s->journal_fd);
    pthread_mutex_destroy(&s->lock);
}

uint64_t audit_sink_unwritten(struct audit_sink *s)
{
    LOCK_SCOPE(&s->lock);

    return s->unwritten;
}
