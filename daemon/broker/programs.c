/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/programs.h"

#include "broker/loader.h"

/* ---- sampler_off.h: time off the processor ---- */

static int load_off(const struct sampler_shared *shared, void **ret, struct error *err)
{
    struct sampler_off *off = NULL;
    int r = sampler_off_new(shared, &off, err);

    *ret = off;
    return r;
}

static void free_off(void *loaded)
{
    sampler_off_free(loaded);
}

static void take_off(struct sampler *s, void *loaded, struct loader *loader)
{
    (void)loader;
    sampler_take_off(s, loaded);
}

/* ---- sampler_alloc.h: what probes in processes tell ---- */

static int load_alloc(const struct sampler_shared *shared, void **ret, struct error *err)
{
    struct sampler_alloc *alloc = NULL;
    int r = sampler_alloc_new(shared, &alloc, err);

    *ret = alloc;
    return r;
}

static void free_alloc(void *loaded)
{
    sampler_alloc_free(loaded);
}

static void take_alloc(struct sampler *s, void *loaded, struct loader *loader)
{
    sampler_alloc_detach_by(loaded, loader_detach, loader);
    sampler_take_alloc(s, loaded);
}

/* ---- sampler_moments.h: moments of JVMs ---- */

static int load_moments(const struct sampler_shared *shared, void **ret, struct error *err)
{
    struct sampler_moments *moments = NULL;
    int r = sampler_moments_new(shared, &moments, err);

    *ret = moments;
    return r;
}

static void free_moments(void *loaded)
{
    sampler_moments_free(loaded);
}

static void take_moments(struct sampler *s, void *loaded, struct loader *loader)
{
    sampler_moments_detach_by(loaded, loader_detach, loader);
    sampler_take_moments(s, loaded);
}

const struct program_type PROGRAMS[PROGRAM_COUNT] = {
    [PROGRAM_OFF] = { sampler_check_off, load_off, free_off, take_off },
    [PROGRAM_ALLOC] = { NULL, load_alloc, free_alloc, take_alloc },
    [PROGRAM_MOMENTS] = { NULL, load_moments, free_moments, take_moments },
};
