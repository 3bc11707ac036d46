/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens listening sockets for the addresses of the configuration. Runs at start, with privileges.
 */
#include "serve/serve.h"

#include "base/cleanup.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define LISTEN_BACKLOG 256
#define LISTEN_GROUP "flamed"
/* Unsent bytes of an answer that the kernel may buffer. By default it buffers up to 4 MiB for a
 * client that does not read, which answer_max_bytes does not count. */
#define LISTEN_UNSENT_BYTES (64 << 10)

#define TLS_PREFIX "https://"

static const char EXPECTED[] =
    "an address is HOST:PORT, [HOST6]:PORT, either after https://, or unix:PATH";

/* ---- TCP ---- */

static int refuse_public(const char *address, const struct listen_rights *rights, struct error *err)
{
    const char *tls = rights->tls ? "" : "tls_server_config with cert_file and key_file",
               *who = rights->authentication
                          ? ""
                          : "a rule under access: with a token, password or certificate";

    error_remedy(err, "set that in flamed.yaml, or listen on 127.0.0.1:PORT, [::1]:PORT or "
                      "unix:PATH, and reach it through ssh -L or a proxy that checks its clients");
    return error_set(err, -EACCES,
                     "cannot listen on '%.200s', which is not loopback, without authentication and "
                     "TLS: %s%s%s is missing",
                     address, tls, tls[0] && who[0] ? ", and " : "", who);
}

/* Checks the rights for an address that is not loopback. */
static int check_public(const char *address, const struct listen_rights *rights, struct error *err)
{
    return rights->tls && rights->authentication ? 0 : refuse_public(address, rights, err);
}

bool listen_wants_tls(const char *address)
{
    return strncmp(address, TLS_PREFIX, strlen(TLS_PREFIX)) == 0;
}

/* Parses "HOST:PORT" or "[HOST6]:PORT" into a socket address. */
static int parse_tcp(const char *address, const struct listen_rights *rights,
                     struct sockaddr_storage *ret, socklen_t *ret_n, struct error *err)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;
    struct span text = span_of(address), host;
    bool wants_tls = span_take_str(&text, TLS_PREFIX), bracketed = span_starts_with(text, "[");
    size_t colon = span_rfind(text, ':');
    char host_text[64];
    uint64_t port;

    if (wants_tls && !rights->tls)
        return error_set(err, -EINVAL,
                         "cannot listen on '%s': tls_server_config with cert_file and key_file is "
                         "missing in flamed.yaml",
                         address);
    if (colon == text.n || !span_parse_dec(span_from(text, colon + 1), &port) || port > 65535)
        return error_set(err, -EINVAL, "'%s' has no port from 0 to 65535: %s", address, EXPECTED);
    host = (struct span){ text.p, colon };
    if (bracketed) {
        if (host.n < 3 || host.p[host.n - 1] != ']')
            return error_set(err, -EINVAL, "'%s' has no ']' before the port: %s", address,
                             EXPECTED);
        host = (struct span){ host.p + 1, host.n - 2 };
    }
    if (host.n == 0 || span_eq_str(host, "*"))
        return rights->tls && rights->authentication
                   ? error_set(err, -EINVAL,
                               "'%s' has no host: all addresses are 0.0.0.0:PORT and [::]:PORT",
                               address)
                   : refuse_public(address, rights, err);
    if (host.n >= sizeof(host_text))
        return error_set(err, -EINVAL, "'%s' has no host: %s", address, EXPECTED);
    span_copy(host, host_text, sizeof(host_text));
    if (!bracketed && strcmp(host_text, "localhost") == 0)
        snprintf(host_text, sizeof(host_text), "127.0.0.1");

    memset(ret, 0, sizeof(*ret));
    if (!bracketed && inet_pton(AF_INET, host_text, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
        *ret_n = sizeof(*v4);
        return ntohl(v4->sin_addr.s_addr) >> 24 == 127 ? 0 : check_public(address, rights, err);
    }
    if (bracketed && inet_pton(AF_INET6, host_text, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)port);
        *ret_n = sizeof(*v6);
        return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) ? 0 : check_public(address, rights, err);
    }
    return error_set(err, -EINVAL, "'%s' is no numeric address, nor localhost: %s", address,
                     EXPECTED);
}

/* Listens on @sa, of @n bytes. @address: its text. */
static int listen_at(const struct sockaddr_storage *sa, socklen_t n, const char *address,
                     int *ret_fd, struct error *err)
{
    _cleanup_close_ int fd = socket(sa->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int one = 1, unsent = LISTEN_UNSENT_BYTES;

    if (fd < 0)
        return error_errno(err, "cannot make a socket for '%s'", address);
    /* accepted connections inherit the option */
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (sa->ss_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
    if (bind(fd, (const struct sockaddr *)sa, n) < 0 || listen(fd, LISTEN_BACKLOG) < 0) {
        if (errno == EADDRINUSE)
            error_remedy(err, "stop the other program, or choose another port with --listen");
        return error_errno(err, "cannot listen on '%s'", address);
    }
    *ret_fd = take_fd(&fd);
    return 0;
}

static int listen_tcp(const char *address, const struct listen_rights *rights, int *ret_fd,
                      struct error *err)
{
    struct sockaddr_storage sa = { 0 };
    socklen_t n = 0;
    int r = parse_tcp(address, rights, &sa, &n, err);

    return r < 0 ? r : listen_at(&sa, n, address, ret_fd, err);
}

/* ---- the other address of localhost ---- */

/* Gets the address of @fd. False: not a TCP socket. */
static bool address_of(int fd, struct sockaddr_storage *ret)
{
    socklen_t n = sizeof(*ret);

    *ret = (struct sockaddr_storage){ 0 };
    return getsockname(fd, (struct sockaddr *)ret, &n) == 0 &&
           (ret->ss_family == AF_INET || ret->ss_family == AF_INET6);
}

/* Compares two addresses. @any_port: port 0 of @b matches any. */
static bool address_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b,
                          bool any_port)
{
    const struct sockaddr_in *a4 = (const struct sockaddr_in *)a,
                             *b4 = (const struct sockaddr_in *)b;
    const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)a,
                              *b6 = (const struct sockaddr_in6 *)b;

    if (a->ss_family != b->ss_family)
        return false;
    if (a->ss_family == AF_INET)
        return a4->sin_addr.s_addr == b4->sin_addr.s_addr &&
               (a4->sin_port == b4->sin_port || (any_port && !b4->sin_port));
    return a->ss_family == AF_INET6 && IN6_ARE_ADDR_EQUAL(&a6->sin6_addr, &b6->sin6_addr) &&
           (a6->sin6_port == b6->sin6_port || (any_port && !b6->sin6_port));
}

/* Gets 127.0.0.1 for ::1, and vice versa. False: @sa is neither. */
static bool twin_of(const struct sockaddr_storage *sa, struct sockaddr_storage *ret,
                    socklen_t *ret_n)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;

    *ret = (struct sockaddr_storage){ 0 };
    if (sa->ss_family == AF_INET &&
        ((const struct sockaddr_in *)sa)->sin_addr.s_addr == htonl(INADDR_LOOPBACK)) {
        v6->sin6_family = AF_INET6;
        v6->sin6_addr = in6addr_loopback;
        v6->sin6_port = ((const struct sockaddr_in *)sa)->sin_port;
        *ret_n = sizeof(*v6);
        return true;
    }
    if (sa->ss_family == AF_INET6 &&
        IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)sa)->sin6_addr)) {
        v4->sin_family = AF_INET;
        v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        v4->sin_port = ((const struct sockaddr_in6 *)sa)->sin6_port;
        *ret_n = sizeof(*v4);
        return true;
    }
    return false;
}

int listen_open_twin(const int *fds, size_t count, size_t of, int *ret_fd, struct error *err)
{
    struct sockaddr_storage sa, twin, other;
    char text[INET6_ADDRSTRLEN + 16];
    socklen_t n = 0;
    int r;

    if (!address_of(fds[of], &sa) || !twin_of(&sa, &twin, &n))
        return LISTEN_NONE;
    for (size_t i = 0; i < count; i++) {
        if (address_of(fds[i], &other) && address_equal(&other, &twin, /* any_port= */ false))
            return LISTEN_NONE;
    }
    if (twin.ss_family == AF_INET6)
        snprintf(text, sizeof(text), "[::1]:%u", ntohs(((struct sockaddr_in6 *)&twin)->sin6_port));
    else
        snprintf(text, sizeof(text), "127.0.0.1:%u",
                 ntohs(((struct sockaddr_in *)&twin)->sin_port));
    r = listen_at(&twin, n, text, ret_fd, err);
    if (r == -EADDRNOTAVAIL || r == -EAFNOSUPPORT)
        return LISTEN_NONE; /* the machine lacks that address */
    if (r == -EADDRINUSE)
        return error_set(err, r,
                         "another program listens on '%s', which is localhost, too: it would get "
                         "requests that are meant for flamed",
                         text);
    return r;
}

bool listen_is_at(int fd, const char *address)
{
    static const struct listen_rights ALL = { .tls = true, .authentication = true };
    struct sockaddr_storage sa, wanted = { 0 };
    socklen_t n = 0;

    return address_of(fd, &sa) && strncmp(address, "unix:", 5) != 0 &&
           parse_tcp(address, &ALL, &wanted, &n, NULL) == 0 &&
           address_equal(&sa, &wanted, /* any_port= */ true);
}

/* ---- Unix ---- */

/* Removes a socket file without a listener. 0: the path is free. */
static int remove_stale(const struct sockaddr_un *sa, struct error *err)
{
    _cleanup_close_ int fd = -1;
    struct stat st;

    if (lstat(sa->sun_path, &st) < 0)
        return errno == ENOENT ? 0 : error_errno(err, "cannot look at '%s'", sa->sun_path);
    if (!S_ISSOCK(st.st_mode)) {
        error_remedy(err, "move it away, or choose another path with --listen");
        return error_set(err, -EEXIST, "'%s' is in the way: it is no socket", sa->sun_path);
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return error_errno(err, "cannot make a Unix socket");
    if (connect(fd, (const struct sockaddr *)sa, sizeof(*sa)) == 0 || errno != ECONNREFUSED) {
        error_remedy(err, "stop the other flamed, or choose another path with --listen");
        return error_set(err, -EADDRINUSE, "another program listens on '%s'", sa->sun_path);
    }
    if (unlink(sa->sun_path) < 0 && errno != ENOENT)
        return error_errno(err, "cannot remove the stale socket '%s'", sa->sun_path);
    return 0;
}

/* Creates the folder of the socket, such as /run/flamed, if the service manager did not. */
static int make_parent(const char *path, struct error *err)
{
    struct span parent = span_of(path);
    char text[sizeof(((struct sockaddr_un *)NULL)->sun_path)];

    parent.n = span_rfind(parent, '/');
    if (parent.n == 0)
        return 0;
    span_copy(parent, text, sizeof(text));
    if (mkdir(text, 0755) < 0 && errno != EEXIST)
        return error_errno(err, "cannot make the folder '%s' for the socket", text);
    return 0;
}

/* Returns the group that may connect; if it is not available, our own. */
static gid_t group_of_users(void)
{
    char text[1024];
    struct group group, *found = NULL;

    if (geteuid() == 0 && getgrnam_r(LISTEN_GROUP, &group, text, sizeof(text), &found) == 0 &&
        found)
        return found->gr_gid;
    return getegid();
}

/* Binds @fd. The file is created with its mode and group, and never changed by name afterwards: a
 * user with write access to the folder could have replaced it. */
static int bind_unix(int fd, const struct sockaddr_un *sa, struct error *err)
{
    mode_t old;
    int r;

    if (fchmod(fd, 0660) < 0)
        return error_errno(err, "cannot set the mode of a socket");
    old = umask(0);
    setfsgid(group_of_users());
    r = bind(fd, (const struct sockaddr *)sa, sizeof(*sa));
    setfsgid(getegid());
    umask(old);
    return r < 0 ? error_errno(err, "cannot bind to '%s'", sa->sun_path) : 0;
}

static int check_unix(const char *path, struct error *err)
{
    if (path[0] != '/' || path[1] == '\0')
        return error_set(err, -EINVAL, "'unix:%s' has no absolute path: %s", path, EXPECTED);
    if (strlen(path) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
        return error_set(err, -ENAMETOOLONG,
                         "'%s' is longer than the path of a socket may be (%zu)", path,
                         sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1);
    return 0;
}

static int listen_unix(const char *path, int *ret_fd, struct error *err)
{
    _cleanup_close_ int fd = -1;
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    int r = check_unix(path, err);

    if (r < 0)
        return r;
    span_copy(span_of(path), sa.sun_path, sizeof(sa.sun_path));
    r = make_parent(path, err) ?: remove_stale(&sa, err);
    if (r < 0)
        return r;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return error_errno(err, "cannot make a Unix socket");
    r = bind_unix(fd, &sa, err);
    if (r < 0)
        return r;
    if (listen(fd, LISTEN_BACKLOG) < 0)
        return error_errno(err, "cannot listen on '%s'", path);
    *ret_fd = take_fd(&fd);
    return 0;
}

int listen_check(const char *address, const struct listen_rights *rights, struct error *err)
{
    struct sockaddr_storage sa;
    socklen_t n = 0;

    if (strncmp(address, "unix:", 5) == 0)
        return check_unix(address + 5, err);
    return parse_tcp(address, rights, &sa, &n, err);
}

int listen_open(const char *address, const struct listen_rights *rights, int *ret_fd,
                struct error *err)
{
    if (strncmp(address, "unix:", 5) == 0)
        return listen_unix(address + 5, ret_fd, err);
    return listen_tcp(address, rights, ret_fd, err);
}

bool listen_unix_path(int fd, char ret[LISTEN_PATH_BYTES])
{
    struct sockaddr_un un = { 0 };
    socklen_t n = sizeof(un);
    bool found = getsockname(fd, (struct sockaddr *)&un, &n) == 0 && un.sun_family == AF_UNIX;
    size_t length = found ? strnlen(un.sun_path, sizeof(un.sun_path)) : 0;

    span_copy((struct span){ un.sun_path, length }, ret, LISTEN_PATH_BYTES);
    return found;
}

bool listen_is_public(int fd)
{
    struct sockaddr_storage sa = { 0 };
    socklen_t n = sizeof(sa);

    if (getsockname(fd, (struct sockaddr *)&sa, &n) < 0)
        return true;
    if (sa.ss_family == AF_INET)
        return ntohl(((struct sockaddr_in *)&sa)->sin_addr.s_addr) >> 24 != 127;
    if (sa.ss_family == AF_INET6)
        return !IN6_IS_ADDR_LOOPBACK(&((struct sockaddr_in6 *)&sa)->sin6_addr);
    return sa.ss_family != AF_UNIX;
}
