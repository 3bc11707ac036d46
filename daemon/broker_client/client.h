/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files of the client (client*.c). Every function blocks for the broker's answer.
 * Thread: any.
 */
#pragma once

#include "broker_client/broker.h"
#include "broker_client/requests.h"
#include "quarantine/quarantine.h"

#include <pthread.h>
#include <stdatomic.h>

struct broker {
    pthread_mutex_t lock; /* held from a request to its answer: one at a time */
    int fd;               /* stays open until broker_free(); readable at EOF, even if lost */
    atomic_bool lost;
    uint32_t seq;
    const struct quarantine *quarantine; /* borrowed; NULL: none; set before other threads start */
    const struct unwind_row *rows;       /* borrowed; NULL: none; never unmapped */
    void *tables; /* memory shared with the broker, BROKER_TABLES_BYTES; NULL until its first use */
};

/* ---- requests ---- */

/* Return the fields that name process @id, and those that name a mapping of it. */
static inline struct target_fields client_target(const struct proc_id *id)
{
    return (struct target_fields){ .host_pid = id->host_pid, .start_ticks = id->start_ticks };
}
static inline struct mapping_fields client_mapping(const struct proc_id *id, uint64_t start,
                                                   uint64_t end)
{
    return (struct mapping_fields){ client_target(id), start, end };
}

/* Copies the @n bytes of a name into a field of @size bytes, which is zero. Returns 0 or -EINVAL.
 */
int client_put_name(char *field, size_t size, struct span name, struct error *err);

/* ---- calls ---- */

/* Sends the request @q and receives its answer. Returns the answer's result. If that is 0, the
 * answer's fds are the caller's. */
int client_call(struct broker *b, struct broker_request *q, struct broker_answer *a, int *fds,
                size_t fds_max, size_t *ret_count, struct error *err);
/* Does the same with b->lock held. */
int client_call_locked(struct broker *b, struct broker_request *q, struct broker_answer *a,
                       int *fds, size_t fds_max, size_t *ret_count, struct error *err);
/* Makes a call with an answer that has no fds. */
int client_call_plain(struct broker *b, struct broker_request *q, struct broker_answer *a,
                      struct error *err);
int client_do(struct broker *b, struct broker_request q, struct error *err);
/* Makes a call with an answer that has one fd. */
int client_call_file(struct broker *b, struct broker_request *q, struct broker_answer *a,
                     int *ret_fd, struct error *err);
int client_open(struct broker *b, struct broker_request q, int *ret_fd, struct error *err);
