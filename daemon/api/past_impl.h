/* SPDX-License-Identifier: Apache-2.0 */
/* What the files about the past share. */
#pragma once

#include "api/api_impl.h"
#include "request/matcher.h"
#include "store/history.h"

struct past_images;

/* Whose samples are meant. */
struct past_filter {
    const struct target_selector *t;
    struct match *jvm;
    struct matcher_set *seen;         /* of the viewer; NULL: none */
    struct matcher_set *asked;        /* of the target; NULL: none */
    const struct past_images *images; /* what was known last; NULL: a profile's rows decide */
    bool owned;           /* what is asked for is its viewer's own: captures of his scope */
    int32_t pid;          /* a single pid: only its last image */
    uint64_t start_ticks; /* of that image */
    uint32_t exec_no;
    uint64_t coarsest_ns; /* as in struct history_query */
};

/* What the recorder has of a time, and where it takes over from the history. */
struct recorded_past {
    uint64_t asked_ns;       /* CLOCK_REALTIME: where the range begins that was asked for */
    uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC */
    /* CLOCK_REALTIME. It takes over at its oldest sample if it has the range whole, or the history
     * does not reach so far. Else that is a whole minute. UINT64_MAX: it is empty. */
    uint64_t since_ns;
    uint64_t kept_ns;       /* CLOCK_REALTIME: minutes that end later were not written yet */
    uint64_t minute_ns;     /* slices of earlier minutes are the history's; 0: none */
    bool whole;             /* samples before from_ns that came late are wanted, too */
    struct profile **parts; /* owned references; NULL: none */
    size_t count;
    bool named;             /* what was known last decides: later slices are taken, too */
    struct profile **later; /* as parts: those from to_ns on */
    size_t later_count;
    uint64_t oldest_ns, period_ns; /* of the recorder; 0: empty or off */
    uint64_t keep_ns;              /* recorder_seconds */
    bool full;                     /* its memory does not suffice for that */
    bool looks;                    /* it looks at threads that wait */
    bool has_waits;                /* the answer has some of that */
};

/* Fills in @ret for @t, which is borrowed. 0 or -errno with @err; @ret needs past_filter_deinit()
 * in every case. */
int past_filter_init(const struct target_selector *t, struct past_filter *ret, struct error *err);
void past_filter_deinit(struct past_filter *f);
/* Returns how far CLOCK_REALTIME is ahead of CLOCK_MONOTONIC. */
uint64_t past_realtime_offset_ns(void);
/* Returns @realtime_ns by CLOCK_MONOTONIC. UINT64_MAX stays. */
uint64_t past_to_monotonic(uint64_t realtime_ns);
/* Returns an empty table of process images, each with what was known of it last. NULL: no memory.
 * Freed by past_images_free(), which accepts NULL. */
struct past_images *past_images_new(void);
struct past_images *past_images_free(struct past_images *m);
/* Adds the processes of @parts, which come by time. Their strings are borrowed from then on. 0 or
 * -ENOMEM. */
int past_images_note(struct past_images *m, struct profile *const *parts, size_t count);
/* Returns whether @f selects by what becomes known of a process only after its start. */
bool past_needs_images(const struct past_filter *f);
/* Returns whether @cookie, a struct past_filter, means @process of @p. */
bool past_wants(void *cookie, const struct profile *p, const struct profile_process *process);
/* With a single pid: pins the image of it that was sampled last in [@from_ns, @to_ns) of @p, unless
 * a later one is known. */
void past_pin_image(struct past_filter *f, const struct profile *p, uint64_t from_ns,
                    uint64_t to_ns);
/* Fills in the facts of a profile of [@from_ns, @to_ns) (CLOCK_MONOTONIC), but for its events. */
void past_meta(const struct past_filter *f, uint64_t from_ns, uint64_t to_ns, struct profile *ret);
/* Warns of *@p, which nobody else holds yet, if stacks of threads that wait are cut, of more than 1
 * % of their time. */
void past_warn_cut(struct profile *p);
/* Warns of *@p, which has one owner so far, if it has less than was asked for (@reach is not "").
 * It warns of those of @events that are not in it, and of several processes. */
void past_warn(const struct target_selector *t, const char *reach, const char *events,
               struct profile *p);
/* Returns whether the recorder may have one of @events, names with commas between them; NULL: the
 * default. */
bool past_is_recorded(const char *events);
/* Gives the recorder's samples of @events in the time of @a, and fills in the rest of @a. *ret
 * stays NULL when there are none. The engine hands out its slices and goes on; they are added up on
 * this thread. A sample counts once where the history is read up to a->since_ns and a->kept_ns
 * alone. 0 or -errno with @err. */
int past_recorded(struct api *api, struct past_filter *f, const char *events,
                  struct recorded_past *a, struct profile **ret, struct error *err);
/* Returns for whom room is counted that @image takes: its pod, else its container, else its user.
 */
uint64_t past_owner(const struct history_image *image);
/* Returns whether samples of @image may be wanted. */
bool past_wants_image(const struct past_filter *f, const struct history_image *image);
/* Does the same for struct history_query: @cookie is the filter. */
bool past_wants_of(void *cookie, const struct history_image *image);
/* Returns the end of the last minute in which the history saw a JVM of @t (CLOCK_REALTIME); 0: it
 * knows none. Blocks for the disk. */
uint64_t past_last_seen(struct api *api, const struct target_selector *t);
/* Gives what the history has of @events in [@from_ns, @to_ns) (CLOCK_REALTIME), with warnings that
 * say what it is made of. With a single pid it pins the image. *ret stays NULL where there is
 * nothing. 0 or -errno with @err. Blocks for the disk. */
int past_history(struct api *api, struct past_filter *f, const char *events, uint64_t from_ns,
                 uint64_t to_ns, struct history_reach *ret_reach, struct profile **ret,
                 struct error *err);
/* Does the same for sums by category, which are handed to @sums->fn. Processes that run no Java
 * code are left out where the filter asks for some of them: their sums are those of all. */
int past_sums(struct api *api, struct past_filter *f, const struct time_range *range,
              struct past_sums *sums, struct error *err);
/* Warns @p of gaps in the @asked_ns that @reach is of, and of what was lost or is damaged. */
void past_history_gaps(const struct history_reach *reach, uint64_t asked_ns, struct profile *p);
