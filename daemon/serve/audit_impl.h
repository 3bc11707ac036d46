/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the audit share: audit.c keeps and writes lines, audit_line.c makes them. */
#pragma once

#include "serve/serve_impl.h"

/* What became of a request, or of a capture that outlives it. */
struct audit_outcome {
    enum audit_action action;
    unsigned status;
    const struct subject *subject;
    const char *problem, *capture; /* NULL: none */
};

/* "capture". Literal. */
const char *audit_action_name(enum audit_action action);
/* Returns what a line says of the process @f, owned by the caller. */
json_t *audit_facts_json(const struct jvm_facts *f);
/* Returns the line, owned by the caller; NULL: out of memory. @req: NULL for a capture. */
char *audit_line(const struct request *req, const struct audit_outcome *o);

/* ---- audit_sink.c ---- */

struct audit_sink {
    pthread_mutex_t lock;
    int file_fd;        /* to append to; guarded by lock, as what follows; -1: none */
    char *torn;         /* owned: what the file lacks of its last line; NULL: nothing */
    uint64_t unwritten; /* lines that the file lacks */
    int journal_fd;     /* -1: none */
};

/* Takes both. */
void audit_sink_init(struct audit_sink *s, int file_fd, int journal_fd);
void audit_sink_deinit(struct audit_sink *s);
void audit_sink_set_file(struct audit_sink *s, int fd); /* takes it */
/* Appends @line to the file, if there is one. */
void audit_sink_append(struct audit_sink *s, const char *line);
/* False: the journal did not take it. */
bool audit_sink_journal(const struct audit_sink *s, const char *line);
uint64_t audit_sink_unwritten(struct audit_sink *s);
