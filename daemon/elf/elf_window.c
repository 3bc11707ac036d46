/* SPDX-License-Identifier: Apache-2.0 */
/* Reads parts of an ELF file piece by piece, each byte once, and hashes them. */
#include "elf/elf_impl.h"

#include "base/cleanup.h"

#define WINDOW_BYTES ((size_t)256 << 10)

void elf_print_add(struct elf_file *f, const void *p, size_t n)
{
    uint64_t link[2] = { f->print, fingerprint(&f->key, (struct span){ p, n }) };

    f->print = fingerprint(&f->key, (struct span){ (const char *)link, sizeof(link) });
}

int elf_window_open(struct elf_file *f, uint64_t at, uint64_t bytes, struct elf_window *ret)
{
    *ret = (struct elf_window){ .f = f, .next = at };
    if (at > INT64_MAX || bytes > INT64_MAX - at)
        return -EBADMSG;
    ret->left = bytes;
    ret->bytes = malloc(WINDOW_BYTES);
    return ret->bytes ? 0 : -ENOMEM;
}

void elf_window_close(struct elf_window *w)
{
    free(w->bytes);
    *w = (struct elf_window){ 0 };
}

bool elf_window_next(struct elf_window *w, size_t keep)
{
    size_t want, got;

    keep = MIN(keep, w->n);
    memmove(w->bytes, w->bytes + w->n - keep, keep);
    w->at += w->n - keep;
    w->n = keep;
    want = (size_t)MIN(w->left, (uint64_t)(WINDOW_BYTES - keep));
    if (!want)
        return false;
    got = elf_source_read(&w->f->source, w->next, w->bytes + keep, want);
    elf_print_add(w->f, w->bytes + keep, got);
    w->n += got;
    w->next += got;
    w->left = got == want ? w->left - got : 0; /* the file is shorter than its headers claim */
    return got > 0;
}
