/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of the history share. Call all functions with the lock of
 * history->store held. */
#pragma once

#include "store/history.h"
#include "store/history_tally.h"
#include "store/store_impl.h"

struct history {
    struct store *store; /* owned */
    uint64_t max_age_ns;
    int64_t earlier;    /* last row of the images that an earlier flamed wrote */
    int64_t next_image; /* number of the next row; dropping rows never lowers it */
    unsigned numbered;  /* store->openings when images_number() read the file's rows */
    struct {
        pthread_mutex_t lock; /* held only for a copy */
        struct history_stats stats;
    } told;
    struct history_stats stats; /* guarded by the lock of the store */
};

#define CANNOT_WRITE "cannot write the history"
#define CANNOT_READ "cannot read the history"
/* Selects the end of the last minute. */
#define HISTORY_NEWEST "SELECT end_ns FROM minutes ORDER BY start_ns DESC LIMIT 1"

/* Values of the column "rolled" of a part. */
#define PART_FRESH "0"   /* not yet added to a part of the next tier */
#define PART_ROLLED "1"  /* added to a part of the next tier */
#define PART_DAMAGED "2" /* added as far as it could be read */

/* Returns the length of a part of @tier in nanoseconds. */
static inline uint64_t history_tier_ns(unsigned tier)
{
    static const uint64_t LENGTHS[HISTORY_TIERS] = { HISTORY_MINUTE_NS, 10 * HISTORY_MINUTE_NS,
                                                     60 * HISTORY_MINUTE_NS };

    return LENGTHS[tier];
}
static inline uint64_t history_floor(uint64_t time_ns, unsigned tier)
{
    return time_ns - time_ns % history_tier_ns(tier);
}

/* history_rows.c */

/* Sets which rows an earlier flamed wrote, if the file was opened for writing since the last call.
 * It may be another file than before, or have rows that could not be read before. Returns 0 or
 * -errno. */
int images_number(struct history *h, struct error *err);
/* Finds or adds @image, seen in the minute that begins at @start_ns, and adds a mark if it is
 * another release of its service. *ret gets its row. Returns 0 or -errno. */
int images_note(struct history *h, const struct history_image *image, uint64_t start_ns,
                int64_t *ret, struct error *err);

/* history_images.c */

/* Drops images beyond HISTORY_IMAGES_KEPT, and their samples. The payers of the most images lose
 * their oldest. Returns 0 or -errno. */
int images_drop(struct history *h, struct error *err);
/* The wanted images that were seen in the span of a query. */
struct image_list {
    struct history_image *items; /* sorted by n */
    size_t count, cap;
    struct intern *strings;
    const struct history_image **by_process; /* [count], sorted; NULL: not sorted yet */
    size_t texts_left_out;                   /* strings omitted for lack of room */
};
int image_list_read(struct history *h, const struct history_query *q, struct image_list *ret,
                    struct error *err);
void image_list_deinit(struct image_list *l);
/* Returns the image of row @n; NULL: the image is not wanted. */
const struct history_image *image_list_find(const struct image_list *l, int64_t n);
/* Sets the version, the attributes and the payer of @p's processes from their images. @p must have
 * no other holder. Strings without room are counted. Returns 0 or -ENOMEM. */
int image_list_describe(struct image_list *l, struct profile *p);

/* history_releases.c: adds a mark if @image differs from the JVM of its service and place that
 * started last before it. @n: its row. @start_ns: begin of the minute. Returns 0 or -errno. */
int releases_note(struct history *h, const struct history_image *image, int64_t n,
                  uint64_t start_ns, struct error *err);

/* history_marks.c: adds the mark @m to the image in row @image; 0: to the node. Returns 0 or
 * -errno. */
int marks_add(struct history *h, const struct history_mark *m, int64_t image, struct error *err);

/* history_stops.c */

/* Adds image->stopped of the minute at @start_ns to row @n of the images. Returns 0 or -errno. */
int stops_add(struct history *h, const struct history_image *image, int64_t n, uint64_t start_ns,
              struct error *err);
/* Drops minutes older than all parts of ten minutes. Returns 0 or -errno. */
int stops_drop(struct history *h, struct error *err);

/* history_put.c: writes @t as a part. Returns 0 or -errno. */
int parts_insert(struct history *h, unsigned tier, uint64_t start_ns, int64_t image, int64_t epoch,
                 struct tally *t, struct error *err);
