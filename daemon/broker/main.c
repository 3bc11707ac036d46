/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flamed-broker: the program that holds the privileges (docs/privilege.md). It parses its command
 * line, gives up what it does not need and answers the requests of broker_client/requests.h.
 */
#include "base/cleanup.h"
#include "base/log.h"
#include "base/version.h"
#include "broker/listen.h"
#include "broker/opener_looks.h"
#include "broker_client/wire.h"
#include "launcher/launcher.h"
#include "privileged/lockdown.h"
#include "sample/tracepoint.h"
#include "sample/uprobe.h"
#include "supervisor/supervise_api.h"
#include "supervisor/supervisor.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static const char USAGE[] =
    "Usage: flamed-broker [--socket=PATH] [--user=NAME] [--config=FILE] [--attach-mount]\n         "
    "            [--bpf-only] [--launcher-socket=PATH] [--log-level=LEVEL]\n       flamed-broker "
    "--launcher [--attach-mount] [--log-level=LEVEL]\n       flamed-broker --version | "
    "--help\n\nHolds the privileges that flamed needs, and answers its requests.\n\n  "
    "--socket=PATH      listen there (default /run/flamed-broker/broker.sock);\n                   "
    "  not with a socket passed by systemd\n  --user=NAME        answer requests of NAME and of "
    "root (default flamed)\n  --audit-log=FILE   where flamed appends who did what; absolute\n  "
    "--config=FILE      flamed's configuration, to be read again by its reload\n                   "
    "  (default /etc/flamed/flamed.yaml)\n  --attach-mount     allow what flamed's option "
    "attach_mount asks for\n  --bpf-only         open no perf events that copy stacks to flamed, "
    "where the\n                     kernel refuses BPF programs\n  --launcher-socket=PATH\n       "
    "              have attach helpers started by the launcher that listens\n                     "
    "there, in place of a child\n  --launcher         be that launcher, on the socket passed by "
    "systemd\n  --log-level=LEVEL  error, warning, info (default) or debug\n\nflamed started as "
    "root starts flamed-broker by itself.\n";

struct options {
    const char *socket, *user, *config, *audit_log, *launcher_socket;
    int fd;     /* a connected socket; -1: listen */
    int client; /* flamed's pid, 0 unknown */
    bool attach_mount, bpf_only, launcher;
    enum log_level log_level;
};

static int parse(int argc, char **argv, struct options *o)
{
    for (int i = 1; i < argc; i++) {
        const char *v;
        int r = -EINVAL;

        if ((v = supervise_option(argv[i], "--socket"))) {
            o->socket = v;
            r = 0;
        } else if ((v = supervise_option(argv[i], "--user"))) {
            o->user = v;
            r = 0;
        } else if ((v = supervise_option(argv[i], "--config"))) {
            o->config = v;
            r = 0;
        } else if ((v = supervise_option(argv[i], "--audit-log"))) {
            o->audit_log = v;
            r = v[0] == '/' ? 0 : -EINVAL;
        } else if ((v = supervise_option(argv[i], "--fd"))) {
            r = supervise_parse_int(v, &o->fd);
        } else if ((v = supervise_option(argv[i], "--client"))) {
            r = supervise_parse_int(v, &o->client);
        } else if ((v = supervise_option(argv[i], "--launcher-socket"))) {
            o->launcher_socket = v;
            r = 0;
        } else if (strcmp(argv[i], "--launcher") == 0) {
            o->launcher = true;
            r = 0;
        } else if (strcmp(argv[i], "--attach-mount") == 0) {
            o->attach_mount = true;
            r = 0;
        } else if (strcmp(argv[i], "--bpf-only") == 0) {
            o->bpf_only = true;
            r = 0;
        } else if ((v = supervise_option(argv[i], "--log-level"))) {
            r = log_level_parse(v, &o->log_level);
        }
        if (r < 0) {
            log_err("'%s' is no option, or its value is not possible: flamed-broker --help lists "
                    "the options",
                    argv[i]);
            return r;
        }
    }
    return 0;
}

/* Starts the launcher, or connects to the one of --launcher-socket. If that launcher does not
 * listen, attaching is off: the administrator may intend that. */
static void start_launcher(const struct options *o, struct server *s)
{
    struct error err = ERROR_NULL;

    s->options.attach_mount = o->attach_mount;
    if (!o->launcher_socket)
        launcher_start(o->attach_mount, &s->launcher_fd);
    else if (wire_connect(o->launcher_socket, &s->launcher_fd, &err) < 0)
        log_warn("attaching will not work: %s; start flamed-launcher.socket", err.msg);
}

/* Opens the file system for pins. The broker does not fork after this. */
static void open_pins(struct server *s)
{
    s->pins_fd = uprobe_pins_open();
    tracepoint_prepare();
    if (s->pins_fd < 0)
        log_warn(
            "cannot make a file system for links of BPF: if flamed-broker is killed, breakpoints "
            "of its probes may stay in a process: %s; see docs/privilege.md",
            strerror(-s->pins_fd));
}

/* Starts the threads that wait for the kernel. */
static int start_threads(struct server *s, struct error *err)
{
    int r = loader_start(broker_lockdown, &s->loader, err);

    return r < 0 ? r : hooker_start(broker_lockdown, &s->hooker, err);
}

/* Runs the supervised broker: one connected socket. */
static int run_connected(const struct options *o, struct error *err)
{
    struct server s;
    int r;

    fcntl(o->fd, F_SETFD, FD_CLOEXEC);
    r = server_init(&s, o->client, err);
    if (r == 0) {
        s.config_path = o->config;
        s.audit_path = o->audit_log;
        s.options.bpf_only = o->bpf_only;
        s.parent = getppid();
        server_probe(&s);
        proc_owner_use_mounts(s.proc_fd);
        start_launcher(o, &s);
        file_openers_start(&s, opener_look_answer);
        open_pins(&s);
        r = start_threads(&s, err);
    }
    if (r == 0)
        r = broker_lockdown(err);
    if (r == 0)
        r = serve_connection(&s, o->fd, err);
    server_deinit(&s);
    return r;
}

/* Runs the broker as a service. */
static int run_listening(const struct options *o, struct error *err)
{
    _cleanup_close_ int fd = listen_inherited();
    struct server s;
    bool fallback;
    uid_t uid;
    gid_t gid; /* group of flamed's users; it gets no access to the broker */
    int r;

    r = supervise_user(o->user, &uid, &gid, &fallback, err);
    if (r < 0)
        return r;
    if (fallback)
        log_warn("there is no user 'flamed': only root's requests are answered uid=%u", uid);
    r = server_init(&s, /* client= */ 0, err);
    if (r < 0)
        return r;
    server_probe(&s);
    proc_owner_use_mounts(s.proc_fd);
    start_launcher(o, &s);
    file_openers_start(&s, opener_look_answer);
    open_pins(&s);
    s.audit_path = o->audit_log;
    s.options.bpf_only = o->bpf_only;
    s.config_path = o->config;
    if (fd < 0)
        r = listen_at(o->socket, &fd, err);
    if (r == 0)
        r = start_threads(&s, err) ?: broker_lockdown(err);
    if (r == 0)
        r = serve_listener(&s, fd, fallback ? 0 : uid, err);
    server_deinit(&s);
    return r;
}

int main(int argc, char **argv)
{
    struct options o = {
        .socket = "/run/flamed-broker/broker.sock",
        .config = "/etc/flamed/flamed.yaml",
        .fd = -1,
        .log_level = LOG_LEVEL_INFO,
    };
    struct error err = ERROR_NULL;
    int r;

    log_init("flamed-broker", LOG_LEVEL_INFO);
    if (argc == 2 && strcmp(argv[1], "--version") == 0)
        return printf("flamed-broker %s\n", FLAMED_VERSION) < 0;
    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return fputs(USAGE, stdout) < 0;
    if (argc > 1 && strcmp(argv[1], "--supervise") == 0)
        return supervisor_main(argc, argv);
    if (parse(argc, argv, &o) < 0)
        return 2;
    log_init(o.launcher ? "flamed-launcher" : "flamed-broker", o.log_level);
    prctl(PR_SET_NAME, "flamed-broker"); /* the supervisor starts it as /proc/self/exe */
    umask(022); /* a JVM's user opens the mounted agent, which an inherited umask may forbid */
    if (o.launcher)
        r = launcher_serve(o.attach_mount, &err);
    else
        r = o.fd >= 0 ? run_connected(&o, &err) : run_listening(&o, &err);
    if (r < 0)
        log_err("%s", err.msg);
    return r < 0 ? 1 : 0;
}
