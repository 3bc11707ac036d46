/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every option of flamed in one table: the command line, the file /etc/flamed/flamed.yaml, --help
 * and the man page all come from it. Flags override the file, the file overrides defaults. Thread:
 * one, at start.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "push/push_config.h"
#include "schedule/rules.h"
#include "serve/serve.h"

#define CONFIG_FILE_DEFAULT "/etc/flamed/flamed.yaml"
#define CONFIG_FILE_MAX_BYTES ((size_t)256 << 10)
#define CONFIG_LISTEN_MAX 16
#define CONFIG_TEXT_MAX 4096

/* The sources that symbols=auto may use. */
enum config_symbols { CONFIG_SYMBOLS_AUTO, CONFIG_SYMBOLS_MEMORY };

struct config_list {
    char *items[CONFIG_LISTEN_MAX]; /* owned */
    size_t count;
};

struct config {
    char *config_file; /* owned, as are all texts here; never NULL after config_init() */
    struct config_list listen;
    struct config_list allowed_hosts; /* for the check of the Host header (origin_facts) */
    bool tcp_manage;
    bool mcp;
    struct {
        char *folder;
        uint64_t max_bytes, max_age_s;
    } store;
    struct {
        char *operation_callers; /* names of methods, with commas between them */
        char *mdc_keys;          /* "trace=requestId", with commas between several */
    } requests;
    char *user;
    unsigned log_level; /* enum log_level */
    unsigned symbols;   /* enum config_symbols */
    struct {
        bool attach_mount;
        bool bpf_only; /* never sample by perf events in place of BPF programs */
    } broker;
    bool show_arguments;
    struct {
        uint64_t max, max_bytes, samples_max;
    } captures;
    uint64_t connections_max;
    uint64_t answer_max_bytes;
    uint64_t unwind_max_frames;
    struct {
        uint64_t hz, seconds, max_bytes;
        bool waits, requests, alloc;
    } recorder;
    struct {
        uint64_t max_bytes, max_age_s;
    } history;
    struct {
        uint64_t heaviest;            /* this many heaviest names of a service are in /metrics */
        struct config_list functions; /* patterns of functions that /metrics has, too */
        char *external_url;           /* where a browser reaches this flamed; "": not known */
    } metrics;
    uint64_t idle_timeout_s;
    struct access_rules *access; /* rights of clients; owned; NULL: the file has none */
    struct tls_config *tls;      /* owned; NULL: the file has none */
    char *audit_log;             /* absolute path; "": none */
    /* The name for a token that flamed prints before it ends; "": none. */
    char *new_token;
    struct push_config *push; /* engines that get profiles; owned; NULL: the file has none */
    struct rules *rules;      /* schedules and triggers; owned; NULL: the file has none */
    struct {
        bool login, check_config, version, help;
    } only;        /* what flamed does in place of serving */
    bool has_file; /* a file was read */
};

/* Sets all options to their defaults. Returns 0 or -ENOMEM. */
int config_init(struct config *c);
void config_deinit(struct config *c);

/* Reads the command line, then the file, which may not override it. A file that --config names must
 * exist; the default one may be missing. With --help or --version no file is read. 0, or -errno
 * with a sentence that names the option, or the file, line and key. Initialises *c in every case;
 * the caller deinitialises it. */
int config_load(int argc, char *const *argv, struct config *c, struct error *err);
/* Do the two halves of config_load(). @text is the content of @file; @file itself only appears in
 * messages. Options in @given (one bit for each row of the table) stay as they are. */
int config_parse_argv(int argc, char *const *argv, struct config *c, uint64_t *given,
                      struct error *err);
/* Does the same as config_parse_yaml() with the text in @fd. */
int config_parse_fd(int fd, uint64_t given, struct config *c, struct error *err);
int config_parse_yaml(struct span text, const char *file, uint64_t given, struct config *c,
                      struct error *err);
/* Gets the names, with commas between them, of options, targets and webhooks that differ and that a
 * running flamed cannot change. Schedules and triggers are not among them. */
void config_differences(const struct config *a, const struct config *b, struct buf *out);

/* Returns which of the rights are given that listening on an address other than loopback needs. */
struct listen_rights config_listen_rights(const struct config *c);

/* Appends the text of --help, and the same options as the part OPTIONS of the man page (roff). */
void config_help(struct buf *out);
void config_man(struct buf *out);
