/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the code of native images (image_code.h) with Zydis. */
#include "elf/image_code.h"

#include "base/array.h"

#include <Zydis/Zydis.h>

#define ALIGNMENT 16
#define AHEAD_BYTES 32 /* more than an instruction and a prologue take */
#define FRAME_BYTES_MAX (INT16_MAX * 8)
#define TABLE_TARGET_BYTES (1 << 20) /* most distance from a jump table to its targets */
#define TABLES_MAX 16                /* jump tables of a function that lie ahead */
#define SCALE_4 2                    /* log2, as encoded */
#define SCALE_8 3
#define REGISTER_SP 4 /* as encoded */
#define MODRM_REGISTER 3
#define BREAKPOINT '\xcc'

enum last {
    LAST_STEP,  /* falls through */
    LAST_STOP,  /* does not fall through */
    LAST_BREAK, /* padding */
    LAST_CALL,  /* may not return */
};

struct image_code {
    ZydisDecoder decoder;
    image_function_fn fn;
    void *cookie;
    uint64_t at;    /* address of the next instruction */
    uint64_t start; /* start of the current function; 0: outside of functions */
    struct {
        uint64_t at;
        uint8_t stride;
    } tables[TABLES_MAX], table; /* jump tables ahead of @at; the table that holds @at */
    uint64_t table_end;          /* the lowest target of the current table */
    uint64_t address;            /* last address loaded, perhaps of a jump table; 0: none */
    enum last last;
    uint32_t left;        /* instructions that may still be decoded */
    uint32_t frame, body; /* frame bytes now, and between prologue and epilogue */
    uint32_t moved;       /* bytes that push [M] has put on top of the frame */
    bool fp_saved, body_fp_saved;
    int64_t planned;          /* bytes by which the frame will grow after a stack check; 0: none */
    uint8_t planned_in;       /* the register that holds the planned stack pointer */
    bool odd;                 /* the function has an unexpected shape */
    bool data;                /* the code has ended: tables and constants follow */
    struct image_step *steps; /* owned */
    size_t count, room;
};

int image_code_new(uint64_t vaddr, image_function_fn fn, void *cookie, struct image_code **ret)
{
    struct image_code *c = calloc(1, sizeof(*c));

    if (!c)
        return -ENOMEM;
    *c = (struct image_code){
        .fn = fn, .cookie = cookie, .at = vaddr, .left = IMAGE_INSTRUCTIONS_MAX
    };
    ZydisDecoderInit(&c->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisDecoderEnableMode(&c->decoder, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
    *ret = c;
    return 0;
}

struct image_code *image_code_free(struct image_code *c)
{
    if (c)
        free(c->steps);
    free(c);
    return NULL;
}

/* ---- functions ---- */

static bool starts_with(struct span s, const char *bytes, size_t n)
{
    return s.n >= n && memcmp(s.p, bytes, n) == 0;
}

/* Matches lea R, [rsp - N]. Compiled code addresses memory below the stack pointer only to plan a
 * frame. */
static bool plans_frame(struct span s)
{
    return s.n >= 8 && (s.p[0] & ~4) == 0x48 && (uint8_t)s.p[1] == 0x8d && s.p[3] == 0x24 &&
           (((s.p[2] & 0xc7) == 0x44 && (int8_t)s.p[4] < 0) ||
            ((s.p[2] & 0xc7) == 0x84 && (int8_t)s.p[7] < 0));
}

/* Matches sub rsp, N and lea R, [rsp - N]. Either may follow push rbp. push rbp; mov rbp, rsp is
 * also a prologue. */
static bool is_prologue(struct span s)
{
    bool pushes = starts_with(s, "\x55", 1);

    s = span_from(s, pushes);
    return starts_with(s, "\x48\x83\xec", 3) || starts_with(s, "\x48\x81\xec", 3) ||
           plans_frame(s) || (pushes && starts_with(s, "\x48\x89\xe5", 3));
}

static int add_step(struct image_code *c, uint64_t pc)
{
    if (c->odd)
        return 0;
    if (c->count == IMAGE_STEPS_MAX) {
        c->odd = true;
        return 0;
    }
    if (!array_grow(&c->steps, &c->room, c->count + 1, 64))
        return -ENOMEM;
    c->steps[c->count++] = (struct image_step){ pc, c->frame + c->moved, c->fp_saved };
    return 0;
}

/* Ends the current function at c->at. */
static int end_function(struct image_code *c)
{
    /* C compilers pad with executable instructions. Then the padding may contain another
     * function. */
    bool whole = !c->odd && c->last != LAST_STEP;
    struct image_function f = { c->start, c->at, c->steps, whole ? c->count : 0 };

    return c->start ? c->fn(c->cookie, &f) : 0;
}

static int begin_function(struct image_code *c)
{
    int r = end_function(c);

    c->start = c->at;
    c->count = 0;
    c->address = c->table.at = 0;
    memset(c->tables, 0, sizeof(c->tables));
    c->frame = c->body = c->moved = 0;
    c->planned = 0;
    c->fp_saved = c->body_fp_saved = c->odd = c->data = false;
    return r < 0 ? r : add_step(c, c->at);
}

/* ---- instructions ---- */

static bool is_sp(const ZydisDecodedInstruction *i, uint8_t number, uint8_t high)
{
    return number == REGISTER_SP && !high && i->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT;
}

/* Returns whether the operand in ModRM.rm is the stack pointer register. */
static bool is_sp_rm(const ZydisDecodedInstruction *i)
{
    return i->raw.modrm.mod == MODRM_REGISTER && is_sp(i, i->raw.modrm.rm, i->raw.rex.B);
}

/* Returns whether @i changes the stack pointer other than by a constant. */
static bool moves_sp(const ZydisDecodedInstruction *i)
{
    switch (i->mnemonic) {
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_POP:
    case ZYDIS_MNEMONIC_PUSHFQ:
    case ZYDIS_MNEMONIC_POPFQ:
    case ZYDIS_MNEMONIC_ENTER:
    case ZYDIS_MNEMONIC_LEAVE:
        return true;
    case ZYDIS_MNEMONIC_MOV:
        return (i->opcode == 0x89 && is_sp_rm(i)) ||
               (i->opcode == 0x8b && is_sp(i, i->raw.modrm.reg, i->raw.rex.R));
    case ZYDIS_MNEMONIC_LEA:
        return is_sp(i, i->raw.modrm.reg, i->raw.rex.R);
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_AND:
    case ZYDIS_MNEMONIC_OR:
    case ZYDIS_MNEMONIC_XOR:
    case ZYDIS_MNEMONIC_XCHG:
        return i->opcode > 0x80 || (i->opcode & 3) == 1 ? is_sp_rm(i)
               : (i->opcode & 3) == 3                   ? is_sp(i, i->raw.modrm.reg, i->raw.rex.R)
                                                        : false;
    default:
        return false;
    }
}

/* Recognizes "sub rsp, N" and "add rsp, N"; *ret: bytes that the frame grows by. */
static bool grows_frame(const ZydisDecodedInstruction *i, int64_t *ret)
{
    if ((i->opcode != 0x81 && i->opcode != 0x83) || !i->raw.rex.W || !is_sp_rm(i) ||
        (i->mnemonic != ZYDIS_MNEMONIC_SUB && i->mnemonic != ZYDIS_MNEMONIC_ADD))
        return false;
    *ret = i->mnemonic == ZYDIS_MNEMONIC_SUB ? i->raw.imm[0].value.s : -i->raw.imm[0].value.s;
    return true;
}

/* Recognizes "mov rsp, R", with the planned stack pointer in R. */
static bool makes_plan(const struct image_code *c, const ZydisDecodedInstruction *i)
{
    return c->planned && i->mnemonic == ZYDIS_MNEMONIC_MOV && i->opcode == 0x8b &&
           i->raw.modrm.mod == MODRM_REGISTER && is_sp(i, i->raw.modrm.reg, i->raw.rex.R) &&
           (i->raw.modrm.rm | i->raw.rex.B << 3) == c->planned_in;
}

/* Recognizes "push rbp" at the function's start, and "pop rbp" when the rest of the frame is
 * removed. */
static bool saves_fp(const struct image_code *c, const ZydisDecodedInstruction *i)
{
    if (i->length != 1 || i->opcode_map != ZYDIS_OPCODE_MAP_DEFAULT)
        return false;
    return i->opcode == 0x55 ? c->at == c->start
                             : i->opcode == 0x5d && c->fp_saved && c->frame == 8;
}

/* Recognizes "push [M]" and "pop [M]", by which older compilers move words. */
static bool moves_word(const ZydisDecodedInstruction *i)
{
    return i->raw.modrm.mod != MODRM_REGISTER && i->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
           ((i->mnemonic == ZYDIS_MNEMONIC_PUSH && i->opcode == 0xff) ||
            (i->mnemonic == ZYDIS_MNEMONIC_POP && i->opcode == 0x8f));
}

static int move_word(struct image_code *c, const ZydisDecodedInstruction *i, uint64_t next)
{
    bool pushes = i->mnemonic == ZYDIS_MNEMONIC_PUSH;

    c->odd |=
        i->operand_width != 64 || (!pushes && !c->moved) || c->moved >= FRAME_BYTES_MAX - c->frame;
    if (c->odd)
        return 0;
    c->moved += pushes ? 8 : -8u;
    return add_step(c, next);
}

static int change_frame(struct image_code *c, int64_t bytes, uint64_t next)
{
    int64_t frame = c->frame + bytes;
    bool grows = bytes > 0;

    /* A frame is made once, and removed as a whole. */
    if (frame < 0 || frame > FRAME_BYTES_MAX || frame % 8 || (grows && c->count > 2) ||
        (!grows && frame != (c->fp_saved ? 8 : 0)))
        c->odd = true;
    if (c->odd)
        return 0;
    c->frame = (uint32_t)frame;
    if (grows) {
        c->body = c->frame;
        c->body_fp_saved = c->fp_saved;
    }
    return add_step(c, next);
}

/* Code after a jump or a return runs within the frame. */
static int restore_body(struct image_code *c, uint64_t next)
{
    if (c->frame == c->body)
        return 0;
    c->frame = c->body;
    c->fp_saved = c->body_fp_saved;
    return add_step(c, next);
}

static void add_table(struct image_code *c, uint8_t stride)
{
    for (size_t k = 0; k < TABLES_MAX; k++) {
        if (c->tables[k].at <= c->at || c->tables[k].at == c->address) {
            c->tables[k].at = c->address;
            c->tables[k].stride = stride;
            break;
        }
    }
    c->address = 0;
}

/* Stores a jump table: "lea R, [rip + N]" of an address ahead, then an indexed load from it. An
 * entry of eight bytes has a key and a target. */
static void note_table(struct image_code *c, const ZydisDecodedInstruction *i, uint64_t next)
{
    bool indexed = i->raw.modrm.mod != MODRM_REGISTER && i->raw.modrm.rm == REGISTER_SP;
    uint64_t to = next + (uint64_t)i->raw.disp.value;

    if (i->mnemonic == ZYDIS_MNEMONIC_LEA && i->raw.modrm.mod == 0 && i->raw.modrm.rm == 5)
        c->address = to > c->at && to - c->at < TABLE_TARGET_BYTES ? to : 0;
    else if (c->address && indexed && i->mnemonic == ZYDIS_MNEMONIC_MOVSXD &&
             i->raw.sib.scale == SCALE_4)
        add_table(c, 4);
    else if (c->address && indexed && i->mnemonic == ZYDIS_MNEMONIC_MOV &&
             i->raw.sib.scale == SCALE_8)
        add_table(c, 8);
}

static enum last last_of(const ZydisDecodedInstruction *i, enum last before)
{
    switch (i->mnemonic) {
    case ZYDIS_MNEMONIC_INT3:
        return LAST_BREAK;
    case ZYDIS_MNEMONIC_RET:
    case ZYDIS_MNEMONIC_JMP:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_HLT:
        return LAST_STOP;
    case ZYDIS_MNEMONIC_CALL:
        return LAST_CALL;
    case ZYDIS_MNEMONIC_NOP: /* a nop follows each call */
        return before == LAST_CALL ? LAST_CALL : LAST_STEP;
    default:
        return LAST_STEP;
    }
}

static int take_instruction(struct image_code *c, const ZydisDecodedInstruction *i, struct span s)
{
    uint64_t next = c->at + i->length;
    int64_t bytes;
    int r = 0;

    c->odd |= c->moved && !moves_word(i);
    c->data = starts_with(s, "\xf4\x0f\x0b", 3); /* hlt; ud2 */
    c->last = last_of(i, c->last);
    note_table(c, i, next);
    if (plans_frame(s)) {
        c->planned = -i->raw.disp.value;
        c->planned_in = (uint8_t)(i->raw.modrm.reg | i->raw.rex.R << 3);
    } else if (makes_plan(c, i)) {
        r = change_frame(c, c->planned, next);
        c->planned = 0;
    } else if (grows_frame(i, &bytes)) {
        r = change_frame(c, bytes, next);
    } else if (saves_fp(c, i)) {
        c->fp_saved = i->opcode == 0x55;
        r = change_frame(c, c->fp_saved ? 8 : -8, next);
    } else if (moves_word(i)) {
        return move_word(c, i, next);
    } else if (moves_sp(i)) {
        c->odd = true;
    } else if (c->last == LAST_STOP) {
        r = restore_body(c, next);
    }
    return r;
}

/* Enters the jump table at c->at, if there is one. */
static void begin_table(struct image_code *c)
{
    for (size_t k = 0; k < TABLES_MAX; k++) {
        if (c->tables[k].at == c->at) {
            c->table = c->tables[k];
            c->table_end = UINT64_MAX;
        }
    }
}

/* Returns the size of the jump table's entry at c->at; 0: the table has ended, before the code of
 * its targets. */
static size_t table_bytes(struct image_code *c, struct span s)
{
    uint64_t to;
    int32_t from_table;

    if (!c->table.at || c->at >= c->table_end || s.n < c->table.stride)
        return 0;
    memcpy(&from_table, s.p + c->table.stride - sizeof(from_table), sizeof(from_table));
    to = c->table.at + (uint64_t)(int64_t)from_table;
    if (to < c->start || to >= c->table.at + TABLE_TARGET_BYTES)
        return 0;
    if (to > c->table.at)
        c->table_end = MIN(c->table_end, to);
    return c->table.stride;
}

static int read_one(struct image_code *c, struct span s, size_t *ret_n)
{
    ZydisDecodedInstruction i;
    int r = 0;

    *ret_n = 0;
    if (c->at % ALIGNMENT == 0 && (c->last == LAST_BREAK || is_prologue(s)))
        r = begin_function(c);
    if (c->data && r == 0) {
        *ret_n = MIN(ALIGNMENT - c->at % ALIGNMENT, s.n);
        c->last = s.p[*ret_n - 1] == BREAKPOINT ? LAST_BREAK : LAST_STOP;
        return 0;
    }
    begin_table(c);
    *ret_n = table_bytes(c, s);
    if (*ret_n || r < 0)
        return r;
    c->table.at = 0;
    if (!c->left) { /* the rest of the code is not decoded */
        c->odd = true;
        *ret_n = s.n;
        return 0;
    }
    c->left--;
    if (ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&c->decoder, NULL, s.p, s.n, &i))) {
        *ret_n = i.length;
        return take_instruction(c, &i, s);
    }
    *ret_n = 1;
    c->odd = true;
    return 0;
}

int image_code_read(struct image_code *c, struct span s, bool last, size_t *ret_used)
{
    size_t used = 0, n;
    int r = 0;

    while (r == 0 && (s.n - used >= AHEAD_BYTES || (last && used < s.n))) {
        r = read_one(c, span_from(s, used), &n);
        used += n;
        c->at += n;
    }
    *ret_used = used;
    return r == 0 && last ? end_function(c) : r;
}
