/* SPDX-License-Identifier: Apache-2.0 */
#include "hotspot_image.h"

#include "hotspot/vm.h"

#define PAGE 4096U
#define CODES 8 /* of the walk over the heaps */

static const char *const FLAGS[] = { "UseCompressedOops",  "PreserveFramePointer",
                                     "MaxHeapSize",        "CompileThresholdScaling",
                                     "CompileCommandFile", "NoSuchFlag" };

struct image_page *image_page(struct image *i, uint64_t address, bool make)
{
    for (size_t n = 0; n < i->page_count; n++) {
        if (i->pages[n].address == address)
            return &i->pages[n];
    }
    if (!make || i->page_count == IMAGE_PAGES_MAX)
        return NULL;
    if (i->page_count == i->page_cap) {
        size_t cap = i->page_cap ? i->page_cap * 2 : 64;
        struct image_page *p = realloc(i->pages, cap * sizeof(*p));

        if (!p)
            return NULL;
        i->pages = p;
        i->page_cap = cap;
    }
    memset(&i->pages[i->page_count], 0, sizeof(i->pages[0]));
    i->pages[i->page_count].address = address;
    return &i->pages[i->page_count++];
}

void image_deinit(struct image *i)
{
    free(i->pages);
    i->pages = NULL;
}

bool image_parse(struct span file, struct image *ret)
{
    uint32_t count, n;
    uint64_t address;

    *ret = (struct image){ 0 };
    if (!span_take_str(&file, "HSI1") || !span_take_u64(&file, &ret->base) ||
        !span_take_u32(&file, &count) || count > IMAGE_PCS_MAX)
        return false;
    for (; ret->pc_count < count; ret->pc_count++) {
        if (!span_take_u64(&file, &ret->pcs[ret->pc_count]))
            return false;
    }
    while (span_take_u64(&file, &address) && span_take_u32(&file, &n)) {
        n = (uint32_t)MIN(n, file.n);
        for (uint32_t at = 0; at < n; at++) {
            struct image_page *p = image_page(ret, (address + at) & ~(uint64_t)(PAGE - 1), true);
            uint32_t part, offset = (address + at) & (PAGE - 1);

            if (!p)
                return true;
            part = MIN(n - at, PAGE - offset);
            memcpy(p->bytes + offset, file.p + at, part);
            at += part - 1;
        }
        file = span_from(file, n);
    }
    return true;
}

ssize_t image_read(void *cookie, uint64_t address, void *buf, size_t n)
{
    struct image *i = cookie;
    struct image_page *p = image_page(i, address & ~(uint64_t)(PAGE - 1), false);
    size_t offset = address & (PAGE - 1), part = MIN(n, PAGE - offset);

    if (!p && i->record_fd > 0) {
        uint8_t bytes[PAGE];

        if (pread(i->record_fd, bytes, PAGE, (off_t)(address - offset)) != PAGE)
            return -EIO;
        p = image_page(i, address - offset, true);
        if (p)
            memcpy(p->bytes, bytes, PAGE);
    }
    if (!p)
        return -EIO;
    memcpy(buf, p->bytes + offset, part);
    return (ssize_t)part;
}

struct digest {
    struct hotspot_vm *vm;
    uint64_t hash;
    int codes;
};

static void fold(struct digest *d, const void *p, size_t n)
{
    const uint8_t *b = p;

    for (size_t i = 0; i < n; i++)
        d->hash = (d->hash ^ b[i]) * UINT64_C(0x100000001b3);
}

static void fold_number(struct digest *d, uint64_t v)
{
    fold(d, &v, sizeof(v));
}

static void fold_code(struct digest *d, const struct hotspot_code *c)
{
    fold_number(d, c->kind);
    fold_number(d, c->start);
    fold_number(d, c->end);
    fold_number(d, c->blob);
    fold_number(d, c->method);
    fold_number(d, (uint64_t)c->compile_id);
    fold_number(d, c->level);
    fold(d, c->name, strnlen(c->name, sizeof(c->name)));
    if (c->start > c->end)
        abort();
}

static int see_code(void *cookie, const struct hotspot_code *code)
{
    struct digest *d = cookie;

    fold_code(d, code);
    return ++d->codes == CODES;
}

static void see_thread(void *cookie, const struct hotspot_thread *t)
{
    fold_number(cookie, (uint64_t)t->ns_tid);
    fold_number(cookie, t->java_thread);
    fold_number(cookie, t->owner_id);
    fold_number(cookie, t->stack_low);
    fold(cookie, t->name.p, t->name.n);
}

static void fold_allocators(struct digest *d)
{
    struct hotspot_allocators a = { 0 };

    fold_number(d, (uint64_t)hotspot_vm_allocators(d->vm, &a));
    for (uint32_t i = 0; i < a.count; i++) {
        fold_number(d, a.at[i].function);
        fold_number(d, a.at[i].kind);
    }
}

static void exercise_method(struct digest *d, uint64_t method, int32_t bci)
{
    static struct hotspot_method m;
    int r = hotspot_method_read(d->vm, method, &m);

    fold_number(d, (uint64_t)r);
    fold_number(d, hotspot_method_line(d->vm, method, bci));
    fold_number(d, hotspot_method_line(d->vm, method, 0));
    if (r != 0)
        return;
    fold(d, m.class_name, m.class_name_n);
    fold(d, m.name, m.name_n);
    fold(d, m.signature, m.signature_n);
    fold(d, m.file, m.file_n);
}

static int see_range(void *cookie, uint64_t start, uint64_t end,
                     const struct hotspot_location *frames, size_t count)
{
    if (start >= end || count == 0 || count > HOTSPOT_INLINE_MAX)
        abort();
    fold_number(cookie, start);
    fold_number(cookie, end);
    for (size_t i = 0; i < count; i++)
        fold_number(cookie, frames[i].method);
    return 0;
}

static void exercise_pc(struct digest *d, uint64_t pc, bool is_return)
{
    struct hotspot_location at[HOTSPOT_INLINE_MAX];
    struct hotspot_code code;
    int n = hotspot_code_find(d->vm, pc - is_return, &code);

    fold_number(d, (uint64_t)n);
    fold_number(d, hotspot_vm_in_code_cache(d->vm, pc));
    if (n != 0)
        return;
    fold_code(d, &code);
    fold_number(d, (uint64_t)hotspot_code_still(d->vm, &code));
    fold_number(d, (uint64_t)hotspot_code_ranges(d->vm, &code, see_range, d));
    n = hotspot_code_locate(d->vm, &code, pc, is_return, at);
    fold_number(d, (uint64_t)n);
    if (n > HOTSPOT_INLINE_MAX)
        abort();
    for (int i = 0; i < n; i++) {
        fold_number(d, (uint64_t)at[i].bci);
        exercise_method(d, at[i].method, at[i].bci);
    }
}

uint64_t image_exercise(struct image *i)
{
    _cleanup_buf_ struct buf text = BUF_NULL;
    struct digest d = { .hash = UINT64_C(0xcbf29ce484222325) };
    struct error err = ERROR_NULL;
    uint64_t value = 0;
    int r = hotspot_vm_open_memory(image_read, i, i->base, NULL, &d.vm, &err);

    fold_number(&d, (uint64_t)r);
    if (r != 0) {
        if (!err.msg[0])
            abort(); /* a refusal without a sentence */
        fold(&d, err.msg, strlen(err.msg));
        return d.hash;
    }
    fold_number(&d, (uint64_t)hotspot_vm_jdk(d.vm));
    fold(&d, hotspot_vm_version(d.vm), strlen(hotspot_vm_version(d.vm)));
    fold(&d, hotspot_vm_name(d.vm), strlen(hotspot_vm_name(d.vm)));
    buf_init(&text, 8192);
    fold_number(&d, (uint64_t)hotspot_vm_command(d.vm, 4000, &text));
    fold_number(&d, (uint64_t)hotspot_vm_arguments(d.vm, 4000, &text));
    fold(&d, text.p, text.n);
    for (size_t f = 0; f < ARRAY_SIZE(FLAGS); f++) {
        fold_number(&d, (uint64_t)hotspot_vm_flag(d.vm, FLAGS[f], &value));
        fold_number(&d, value);
    }
    for (size_t p = 0; p < i->pc_count; p++)
        exercise_pc(&d, i->pcs[p] & ~IMAGE_RETURN, i->pcs[p] & IMAGE_RETURN);
    fold_number(&d,
                (uint64_t)hotspot_vm_codes(d.vm, &(struct hotspot_codes_at){ 0 }, see_code, &d));
    fold_allocators(&d);
    fold_number(&d, (uint64_t)hotspot_vm_threads(d.vm, HOTSPOT_THREAD_NAME | HOTSPOT_THREAD_OWNER,
                                                 see_thread, &d));
    hotspot_vm_close(d.vm);
    return d.hash;
}
