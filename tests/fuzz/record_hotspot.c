/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a corpus file for fuzz_hotspot from a running JVM: record_hotspot PID CLASS > FILE. The pcs
 * are in compiled methods of CLASS, in stubs, a native wrapper and the interpreter. It records
 * hotspot/'s reads while the JVM is stopped. Then it removes table rows and bytes that do not
 * change any answer, one after the other.
 */
#include "hotspot/dynsym.h"
#include "hotspot_image.h"
#include "tests/read_jvm.h"

#include <signal.h>

#define METHODS 3 /* with inlined calls */
#define PCS_PER_METHOD 4
#define GAP_MAX 12 /* zero bytes that are smaller to keep than to leave out */

struct choice {
    struct image *image;
    struct hotspot_vm *vm;
    const char *class_name;
    bool stub, native, list, vtable, adapter;
    unsigned methods;
};

static void add_pc(struct image *i, uint64_t pc)
{
    if (i->pc_count < IMAGE_PCS_MAX)
        i->pcs[i->pc_count++] = pc;
}

static int choose(void *cookie, const struct hotspot_code *c)
{
    struct choice *ch = cookie;
    struct hotspot_method m;
    uint64_t size = c->end - c->start;

    if (c->kind == HOTSPOT_CODE_STUB && !c->part && !ch->stub && size > 64) {
        add_pc(ch->image, c->start + 8);
        ch->stub = true;
    } else if (c->part && strstr(c->name, "vtable stub") && !ch->vtable) {
        add_pc(ch->image, c->start + 8);
        ch->vtable = true;
    } else if (c->part && strstr(c->name, "I2C adapter") && !ch->adapter) {
        add_pc(ch->image, c->start + 8);
        add_pc(ch->image, c->end + 8);
        ch->adapter = true;
    } else if (c->part && strstr(c->name, "jint_") && !ch->list) {
        add_pc(ch->image, c->start + 8);
        ch->list = true;
    } else if (c->kind == HOTSPOT_CODE_NATIVE && !ch->native) {
        add_pc(ch->image, c->start + size / 2);
        ch->native = true;
    } else if (c->kind == HOTSPOT_CODE_COMPILED && ch->methods < METHODS &&
               hotspot_method_read(ch->vm, c->method, &m) == 0 &&
               span_eq_str((struct span){ m.class_name, m.class_name_n }, ch->class_name)) {
        unsigned chosen = 0;

        for (uint64_t at = size / 16; at < size && chosen < PCS_PER_METHOD; at += size / 16) {
            struct hotspot_location where[HOTSPOT_INLINE_MAX];

            if (hotspot_code_locate(ch->vm, c, c->start + at, false, where) > 1) {
                add_pc(ch->image, (c->start + at) | (chosen++ % 2 ? IMAGE_RETURN : 0));
                at += size / 16;
            }
        }
        ch->methods += chosen > 0;
    }
    return 0;
}

/* Moves @n bytes inside the image. */
static void image_move(struct image *i, uint64_t to, uint64_t from, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        struct image_page *p = image_page(i, (from + k) & ~UINT64_C(4095), false);
        struct image_page *q = image_page(i, (to + k) & ~UINT64_C(4095), false);

        if (q)
            q->bytes[(to + k) & 4095] = p ? p->bytes[(from + k) & 4095] : 0;
    }
}

struct backup {
    struct image_page *pages;
};

static void save(const struct image *i, struct backup *b)
{
    b->pages = realloc(b->pages, i->page_count * sizeof(*b->pages));
    memcpy(b->pages, i->pages, i->page_count * sizeof(*b->pages));
}

/* Removes rows from the table of @rows rows at @table as long as the answers stay the same.
 * @count_at: address of the number of rows, 0: an empty row ends it. */
static void drop_rows(struct image *i, uint64_t want, uint64_t table, size_t stride, uint64_t rows,
                      uint64_t count_at)
{
    struct backup b = { NULL };

    for (uint64_t step = 64; step > 0; step /= 4) {
        for (uint64_t row = rows; row-- > 0;) {
            uint64_t n = MIN(step, rows - row);

            if (n < step)
                continue;
            save(i, &b);
            image_move(i, table + row * stride, table + (row + n) * stride,
                       (size_t)(rows + 1 - row - n) * stride);
            if (count_at) {
                uint64_t left = rows - n;
                struct image_page *p = image_page(i, count_at & ~UINT64_C(4095), false);

                memcpy(p->bytes + (count_at & 4095), &left, 8);
            }
            if (image_exercise(i) == want) {
                rows -= n;
                row = MIN(row, rows);
            } else {
                memcpy(i->pages, b.pages, i->page_count * sizeof(*b.pages));
            }
        }
    }
    free(b.pages);
}

static uint64_t variable(const struct dynsym *d, const char *name)
{
    uint64_t at, v = 0;

    if (dynsym_find(d, name, &at) == 0)
        memory_u64(d->m, at, &v);
    return v;
}

static void drop_table(struct image *i, uint64_t want, const char *table, const char *stride,
                       const char *name)
{
    struct hotspot_memory m;
    struct dynsym d;
    uint64_t at, step, offset, rows = 0, v = 1;

    memory_init(&m, image_read, i);
    if (dynsym_open(&m, i->base, &d, NULL) < 0)
        exit(1);
    at = variable(&d, table);
    step = variable(&d, stride);
    offset = variable(&d, name);
    while (memory_u64(&m, at + rows * step + offset, &v) == 0 && v != 0)
        rows++;
    drop_rows(i, want, at, (size_t)step, rows, 0);
}

static void drop_flags(struct image *i, uint64_t want)
{
    struct hotspot_vm *vm;
    uint64_t table, count, count_at;
    size_t stride;

    if (hotspot_vm_open_memory(image_read, i, i->base, NULL, &vm, NULL) != 0)
        exit(1);
    memory_u64(&vm->memory, vm->layout.flags_at, &table);
    count_at = vm->layout.flag_count_at;
    memory_u64(&vm->memory, count_at, &count);
    stride = vm->layout.sizeof_Flag ? vm->layout.sizeof_Flag : vm->layout.sizeof_JVMFlag;
    hotspot_vm_close(vm);
    drop_rows(i, want, table, stride, count, count_at);
}

static void drop_bytes(struct image *i, uint64_t want)
{
    for (size_t grain = 1024; grain >= 4; grain /= 4) {
        for (size_t p = 0; p < i->page_count; p++) {
            for (size_t at = 0; at < 4096; at += grain) {
                uint8_t kept[1024], *bytes = i->pages[p].bytes + at;

                memcpy(kept, bytes, grain);
                memset(bytes, 0, grain);
                if (memcmp(kept, bytes, grain) != 0 && image_exercise(i) != want)
                    memcpy(bytes, kept, grain);
            }
        }
        fprintf(stderr, "grain %zu done\n", grain);
    }
}

static void put(const void *p, size_t n)
{
    fwrite(p, 1, n, stdout);
}

static void write_image(const struct image *i)
{
    uint32_t n = (uint32_t)i->pc_count;

    put("HSI1", 4);
    put(&i->base, 8);
    put(&n, 4);
    put(i->pcs, i->pc_count * 8);
    for (size_t p = 0; p < i->page_count; p++) {
        const uint8_t *b = i->pages[p].bytes;
        size_t at = 0;

        while (at < 4096) {
            size_t start, end, zeros = 0;
            uint64_t address;

            for (start = at; start < 4096 && b[start] == 0; start++)
                ;
            if (start == 4096 && at > 0)
                break;
            start = start == 4096 ? 0 : start; /* a page of zeros is still mapped */
            for (end = start + 1, at = end; at < 4096 && zeros <= GAP_MAX; at++) {
                zeros = b[at] == 0 ? zeros + 1 : 0;
                if (b[at] != 0)
                    end = at + 1;
            }
            address = i->pages[p].address + start;
            n = (uint32_t)(end - start);
            put(&address, 8);
            put(&n, 4);
            put(b + start, n);
            at = end;
        }
    }
}

int main(int argc, char **argv)
{
    struct image i = { .record_fd = -1 };
    struct choice ch = { .image = &i };
    struct read_jvm jvm;
    uint64_t want;
    pid_t pid;

    if (argc != 3) {
        fprintf(stderr, "usage: %s PID CLASS > FILE\n", argv[0]);
        return 2;
    }
    pid = (pid_t)strtol(argv[1], NULL, 10);
    kill(pid, SIGSTOP);
    jvm = read_jvm_open(pid);
    i.base = jvm.libjvm;
    ch.vm = jvm.vm;
    ch.class_name = argv[2];
    if (hotspot_vm_codes(ch.vm, &(struct hotspot_codes_at){ 0 }, choose, &ch) < 0) {
        fprintf(stderr, "cannot read JVM %s\n", argv[1]);
        return 1;
    }
    add_pc(&i, ch.vm->code.interpreter_start + 40);
    add_pc(&i, i.base + 4096);
    i.record_fd = jvm.mem_fd;
    want = image_exercise(&i);
    i.record_fd = -1;
    read_jvm_close(&jvm);
    kill(pid, SIGCONT);
    if (image_exercise(&i) != want) {
        fprintf(stderr, "the image is too large\n");
        return 1;
    }
    drop_table(&i, want, "gHotSpotVMTypes", "gHotSpotVMTypeEntryArrayStride",
               "gHotSpotVMTypeEntryTypeNameOffset");
    drop_table(&i, want, "gHotSpotVMStructs", "gHotSpotVMStructEntryArrayStride",
               "gHotSpotVMStructEntryTypeNameOffset");
    drop_table(&i, want, "gHotSpotVMIntConstants", "gHotSpotVMIntConstantEntryArrayStride",
               "gHotSpotVMIntConstantEntryNameOffset");
    drop_table(&i, want, "gHotSpotVMLongConstants", "gHotSpotVMLongConstantEntryArrayStride",
               "gHotSpotVMLongConstantEntryNameOffset");
    drop_flags(&i, want);
    drop_bytes(&i, want);
    if (image_exercise(&i) != want)
        return 1;
    write_image(&i);
    image_deinit(&i);
    return 0;
}
