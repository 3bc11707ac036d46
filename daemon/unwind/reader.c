/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "unwind/reader.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <pthread.h>

#define READER_QUEUE_MAX 1024

struct job {
    struct job *next;
    int fd;
    struct reader_result result;
};

struct reader {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake, result;
    struct job *todo, **todo_end; /* oldest first */
    struct job *done, **done_end;
    size_t waiting; /* in todo, or under way */
    bool stopping;
};

static void job_free(struct job *j)
{
    close_fd(j->fd);
    ehframe_deinit(&j->result.table);
    free(j);
}

static struct job *take_todo(struct reader *r)
{
    struct job *j;

    while (!r->todo && !r->stopping)
        pthread_cond_wait(&r->wake, &r->lock);
    if (r->stopping)
        return NULL;
    j = r->todo;
    r->todo = j->next;
    if (!r->todo)
        r->todo_end = &r->todo;
    return j;
}

static void *reader_main(void *arg)
{
    struct reader *r = arg;
    struct job *j;

    pthread_setname_np(pthread_self(), "flamed-reader");
    pthread_mutex_lock(&r->lock);
    while ((j = take_todo(r))) {
        pthread_mutex_unlock(&r->lock);
        j->result.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        j->result.outcome = ehframe_read(j->fd, &j->result.table, NULL);
        j->result.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - j->result.cpu_ns;
        j->fd = close_fd(j->fd);
        pthread_mutex_lock(&r->lock);
        j->next = NULL;
        *r->done_end = j;
        r->done_end = &j->next;
        r->waiting--;
        pthread_cond_broadcast(&r->result);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

int reader_new(struct reader **ret)
{
    struct reader *r = calloc(1, sizeof(*r));
    pthread_condattr_t attr;
    int k;

    if (!r)
        return -ENOMEM;
    r->todo_end = &r->todo;
    r->done_end = &r->done;
    pthread_mutex_init(&r->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&r->wake, NULL);
    pthread_cond_init(&r->result, &attr);
    pthread_condattr_destroy(&attr);
    k = pthread_create(&r->thread, NULL, reader_main, r);
    if (k != 0) {
        free(r);
        return -k;
    }
    *ret = r;
    return 0;
}

static void free_list(struct job *list)
{
    while (list) {
        struct job *j = list;

        list = j->next;
        job_free(j);
    }
}

struct reader *reader_free(struct reader *r)
{
    if (!r)
        return NULL;
    pthread_mutex_lock(&r->lock);
    r->stopping = true;
    pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->thread, NULL);
    free_list(r->todo);
    free_list(r->done);
    pthread_cond_destroy(&r->wake);
    pthread_cond_destroy(&r->result);
    pthread_mutex_destroy(&r->lock);
    free(r);
    return NULL;
}

int reader_put(struct reader *r, int fd, uint64_t ticket)
{
    struct job *j = calloc(1, sizeof(*j));
    int k = 0;

    if (!j) {
        close_fd(fd);
        return -ENOMEM;
    }
    j->fd = fd;
    j->result.ticket = ticket;
    pthread_mutex_lock(&r->lock);
    if (r->waiting >= READER_QUEUE_MAX) {
        k = -ENOSPC;
    } else {
        *r->todo_end = j;
        r->todo_end = &j->next;
        r->waiting++;
        pthread_cond_signal(&r->wake);
    }
    pthread_mutex_unlock(&r->lock);
    if (k < 0)
        job_free(j);
    return k;
}

bool reader_take(struct reader *r, struct reader_result *ret)
{
    struct job *j;

    pthread_mutex_lock(&r->lock);
    j = r->done;
    if (j) {
        r->done = j->next;
        if (!r->done)
            r->done_end = &r->done;
    }
    pthread_mutex_unlock(&r->lock);
    if (!j)
        return false;
    *ret = j->result;
    free(j);
    return true;
}

bool reader_wait(struct reader *r, uint64_t deadline_ns)
{
    struct timespec until = { .tv_sec = (time_t)(deadline_ns / NSEC_PER_SEC),
                              .tv_nsec = (long)(deadline_ns % NSEC_PER_SEC) };
    bool there;

    pthread_mutex_lock(&r->lock);
    while (!r->done && r->waiting &&
           pthread_cond_timedwait(&r->result, &r->lock, &until) != ETIMEDOUT)
        ;
    there = r->done != NULL;
    pthread_mutex_unlock(&r->lock);
    return there;
}
