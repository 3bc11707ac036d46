/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the client (client*.c) share. Everything here blocks for the broker's answer.
 * Thread: any.
 */
#pragma once

#include "broker_client/broker.h"
#include "broker_client/requests.h"
#include "quarantine/quarantine.h"

#include <pthread.h>
#include <stdatomic.h>

struct broker {
    pthread_mutex_t lock; /* held from a request until its answer: one at a time */
    int fd;               /* stays open (and readable: EOF) until broker_free(), lost or not */
    atomic_bool lost;
    uint32_t seq;
    const struct quarantine *quarantine; /* borrowed; NULL: none; as set before the first thread */
    const struct unwind_row *rows;       /* the same; never unmapped */
    void *tables; /* memory shared with the broker, BROKER_TABLES_BYTES; NULL until it is needed */
};

/* ---- requests ---- */

/* Return a request of that kind, about nothing or about the process @id. */
struct broker_request client_request(uint32_t kind);
struct broker_request client_request_target(uint32_t kind, const struct proc_id *id);
/* 0 or -EINVAL. */
int client_request_name(struct broker_request *q, const void *name, size_t n, struct error *err);

/* ---- calls ---- */

/* Asks @q. The answer's result; its fds (on 0) are the caller's. */
int client_call(struct broker *b, struct broker_request *q, struct broker_answer *a, int *fds,
                size_t fds_max, size_t *ret_count, struct error *err);
/* Does the same with b->lock held. */
int client_call_locked(struct broker *b, struct broker_request *q, struct broker_answer *a,
                       int *fds, size_t fds_max, size_t *ret_count, struct error *err);
/* Makes a call where the answer has no fds. */
int client_call_plain(struct broker *b, struct broker_request *q, struct broker_answer *a,
                      struct error *err);
/* Makes a call where it is one fd and a value. */
int client_call_file_value(struct broker *b, struct broker_request *q, int *ret_fd,
                           uint64_t *ret_value, struct error *err);
/* Makes a call where it is one fd. */
int client_call_file(struct broker *b, struct broker_request *q, int *ret_fd, struct error *err);
