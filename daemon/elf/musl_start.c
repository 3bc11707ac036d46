/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the outermost functions of musl (musl_start.h) with Zydis. */
#include "elf/musl_start.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <Zydis/Zydis.h>

/* xor rbp, rbp; mov rdi, rsp; lea rsi, [rip + N]; and rsp, -16; then a call */
#define ENTRY_HEAD "\x48\x31\xed\x48\x89\xe7\x48\x8d\x35"
#define ENTRY_TAIL "\x48\x83\xe4\xf0"
#define CALL_BYTES 5
/* xor ebp, ebp; pop rdi; call r9; mov edi, eax; xor eax, eax; mov al, 60; syscall; hlt */
#define THREAD "\x31\xed\x5f\x41\xff\xd1\x89\xc7\x31\xc0\xb0\x3c\x0f\x05\xf4"
#define THREAD_CALL_BYTES 6 /* bytes up to the end of its call */
/* mov edi, eax; call: exit() with a result. A prefix 0x48 moves all 64 bits. */
#define RESULT "\x89\xc7\xe8"
#define FUNCTION_BYTES_MAX 256 /* bytes from a function's start to its call of exit() */
#define CALLS_MAX 64           /* the last calls: libc.a comes after the program's code */
#define DECODED_MAX_BYTES ((size_t)4 << 20) /* decoded at the end of the code; libc has 0.6 MiB */
#define INSTRUCTIONS_MAX (2u << 20)         /* in those bytes; compilers make half as many */
#define NO_START SIZE_MAX
#define INDIRECT_BYTES_MAX 4 /* bytes of an indirect call, from its opcode on */
#define PUSHES_MAX 16
#define FRAME_BYTES_MAX 4096
#define REGISTER_SP 4 /* as encoded */
#define MODRM_REGISTER 3
#define BASE_RIP 5
#define CALL_INDIRECT 2 /* value of ModRM.reg of opcode 0xff */

struct reading {
    ZydisDecoder decoder;
    struct span code;
    uint64_t vaddr;
    size_t calls[CALLS_MAX];  /* offsets of the calls of exit(), ascending */
    size_t starts[CALLS_MAX]; /* the last possible start of a function before each call */
    size_t call_count;
    struct musl_rules *ret;
};

/* The state of decoding one function. */
struct walk {
    size_t at, end;
    size_t reach; /* the highest target before @end of a branch of the function */
    uint32_t frame;
    bool branched; /* it has branched or called, so the frame is complete */
    bool called;   /* the previous instruction was an indirect call */
};

static bool starts_with(struct span s, const char *bytes, size_t n)
{
    return s.n >= n && memcmp(s.p, bytes, n) == 0;
}

bool musl_enters(struct span code)
{
    const size_t head = sizeof(ENTRY_HEAD) - 1, tail = sizeof(ENTRY_TAIL) - 1;

    return starts_with(code, ENTRY_HEAD, head) &&
           starts_with(span_from(code, MIN(code.n, head + 4)), ENTRY_TAIL, tail);
}

static void add_rule(struct reading *r, size_t at, enum musl_base base, uint32_t frame_bytes)
{
    struct musl_rules *t = r->ret;

    if (t->count < MUSL_RULES_MAX)
        t->rules[t->count++] = (struct musl_rule){ r->vaddr + at, base, frame_bytes };
}

/* Adds rules for outermost code from @at up to @end. */
static void add_root(struct reading *r, size_t at, size_t end)
{
    if (r->ret->count + 2 > MUSL_RULES_MAX)
        return;
    add_rule(r, at, MUSL_ROOT, 0);
    add_rule(r, end, MUSL_END, 0);
}

static bool decode(const struct reading *r, size_t at, ZydisDecodedInstruction *ret)
{
    return at < r->code.n &&
           ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&r->decoder, NULL, r->code.p + at,
                                                      MIN(r->code.n - at, (size_t)15), ret));
}

/* ---- functions ---- */

static bool is_default(const ZydisDecodedInstruction *i)
{
    return i->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT;
}

/* Recognizes "sub rsp, N". */
static bool grows_frame(const ZydisDecodedInstruction *i)
{
    return is_default(i) && (i->opcode == 0x81 || i->opcode == 0x83) && i->raw.rex.W &&
           i->mnemonic == ZYDIS_MNEMONIC_SUB && i->raw.modrm.mod == MODRM_REGISTER &&
           i->raw.modrm.rm == REGISTER_SP && !i->raw.rex.B;
}

static bool is_push(const ZydisDecodedInstruction *i)
{
    return is_default(i) && (i->opcode & ~7) == 0x50 && i->operand_width == 64;
}

/* Returns whether ModRM.reg of @i extends the opcode instead of naming a register. */
static bool is_group(const ZydisDecodedInstruction *i)
{
    switch (is_default(i) ? i->opcode : 0) {
    case 0x80:
    case 0x81:
    case 0x83:
    case 0xc0:
    case 0xc1:
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3:
    case 0xf6:
    case 0xf7:
    case 0xfe:
    case 0xff:
        return true;
    default:
        return false;
    }
}

/* Returns whether @i has the stack pointer as a register operand, except in an address.
 * Instructions that are not known count as that. */
static bool may_move_sp(const ZydisDecodedInstruction *i)
{
    const bool has_modrm = i->attributes & ZYDIS_ATTRIB_HAS_MODRM;
    const bool in_rm =
        i->raw.modrm.mod == MODRM_REGISTER && i->raw.modrm.rm == REGISTER_SP && !i->raw.rex.B;
    const bool in_reg = i->raw.modrm.reg == REGISTER_SP && !i->raw.rex.R;

    switch (i->mnemonic) {
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_POP:
    case ZYDIS_MNEMONIC_PUSHFQ:
    case ZYDIS_MNEMONIC_POPFQ:
    case ZYDIS_MNEMONIC_ENTER:
    case ZYDIS_MNEMONIC_LEAVE:
    case ZYDIS_MNEMONIC_XCHG:
        return true;
    case ZYDIS_MNEMONIC_MOV:
        return is_default(i) &&
               ((i->opcode == 0x89 && in_rm) || (i->opcode == 0x8b && in_reg) ||
                (i->opcode == 0xc7 && in_rm) || ((i->opcode & ~7) == 0xb8 && (i->opcode & 7) == 4));
    case ZYDIS_MNEMONIC_LEA:
        return in_reg;
    case ZYDIS_MNEMONIC_CMP:
    case ZYDIS_MNEMONIC_TEST:
        return false;
    default:
        return has_modrm && (in_rm || (in_reg && !is_group(i)));
    }
}

static bool is_indirect_call(const ZydisDecodedInstruction *i)
{
    return is_default(i) && i->opcode == 0xff && i->raw.modrm.reg == CALL_INDIRECT;
}

/* Recognizes relative branches. Of these only jumps may leave the function. */
static bool is_branch(const ZydisDecodedInstruction *i)
{
    return i->raw.imm[0].is_relative && i->mnemonic != ZYDIS_MNEMONIC_CALL;
}

/* Returns whether execution does not continue behind @i. */
static bool is_stop(const ZydisDecodedInstruction *i)
{
    switch (i->mnemonic) {
    case ZYDIS_MNEMONIC_RET:
    case ZYDIS_MNEMONIC_JMP:
    case ZYDIS_MNEMONIC_HLT:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_INT3:
    case ZYDIS_MNEMONIC_IRETQ:
        return true;
    default:
        return false;
    }
}

/* Decodes the instruction at w->at. Return: false if the function has another shape. */
static bool step(struct reading *r, struct walk *w)
{
    ZydisDecodedInstruction i;
    uint32_t bytes = 0;
    size_t next;

    if (!decode(r, w->at, &i))
        return false;
    next = w->at + i.length;
    if (is_stop(&i) && (i.mnemonic != ZYDIS_MNEMONIC_JMP || w->reach < next))
        return false;
    if (is_branch(&i) && next + (uint64_t)i.raw.imm[0].value.s < w->end)
        w->reach = MAX(w->reach, next + (size_t)i.raw.imm[0].value.s);
    if (is_push(&i))
        bytes = 8;
    else if (grows_frame(&i))
        bytes =
            i.raw.imm[0].value.s > 0 ? (uint32_t)MIN(i.raw.imm[0].value.s, FRAME_BYTES_MAX + 8) : 1;
    else if (may_move_sp(&i))
        return false;
    /* Refuse a change of the frame after a branch: the branch may skip it. */
    if (bytes % 8 || (bytes && w->branched) || w->frame + bytes > FRAME_BYTES_MAX)
        return false;
    w->branched |= i.raw.imm[0].is_relative; /* also a call, which may not return */
    w->called = is_indirect_call(&i);
    w->branched |= w->called;
    w->at = next;
    w->frame += bytes;
    if (bytes)
        add_rule(r, w->at, MUSL_SP, w->frame);
    return true;
}

/* Returns whether code that has rules lies in [@from, @end). */
static bool overlaps(const struct reading *r, size_t from, size_t end)
{
    const struct musl_rule *rules = r->ret->rules;
    uint64_t start = 0;

    for (size_t k = 0; k < r->ret->count; k++) {
        if (k == 0 || rules[k - 1].base == MUSL_END)
            start = rules[k].pc - r->vaddr;
        if (rules[k].base == MUSL_END && from < rules[k].pc - r->vaddr && start < end)
            return true;
    }
    return false;
}

/* Adds rules for the function from @start to the end of the call at @call. If @result is not 0, an
 * indirect call must end @result bytes before @call. Return: false, without rules, if the function
 * has another shape, or overlaps with one that has rules. */
static bool add_function(struct reading *r, size_t start, size_t call, size_t result)
{
    struct walk w = { .at = start, .end = call };
    const size_t before = r->ret->count;
    const size_t end = call + CALL_BYTES;
    bool good = !overlaps(r, start, end) && before + PUSHES_MAX + 4 <= MUSL_RULES_MAX;

    if (good)
        add_rule(r, start, MUSL_SP, 0);
    while (good && w.at < call - result)
        good = step(r, &w) && r->ret->count <= before + PUSHES_MAX;
    /* At a call the stack pointer is a multiple of 16. */
    if (good && w.at == call - result && (!result || w.called) && w.frame % 16 == 8) {
        add_rule(r, end, MUSL_END, 0);
        return true;
    }
    r->ret->count = before;
    return false;
}

/* ---- where functions begin ---- */

/* Returns whether the mov at @at moves all 64 bits. */
static bool is_wide(const struct reading *r, size_t at)
{
    return at > 0 && r->code.p[at - 1] == '\x48';
}

/* Returns whether an indirect call may end at @at. */
static bool may_follow_indirect(const struct reading *r, size_t at)
{
    for (size_t n = 2; n <= INDIRECT_BYTES_MAX && n <= at; n++) {
        if (r->code.p[at - n] == '\xff' && (r->code.p[at - n + 1] >> 3 & 7) == CALL_INDIRECT)
            return true;
    }
    return false;
}

/* Finds the last calls of exit() with a result, from the end of the code backwards. */
static void find_calls(struct reading *r)
{
    const size_t n = sizeof(RESULT) - 1;
    size_t first = CALLS_MAX;

    for (size_t end = r->code.n; end >= n && first; end--) {
        if (memcmp(r->code.p + end - n, RESULT, n) == 0 &&
            may_follow_indirect(r, end - n - is_wide(r, end - n)))
            r->calls[--first] = end - 1;
    }
    r->call_count = CALLS_MAX - first;
    memmove(r->calls, r->calls + first, r->call_count * sizeof(r->calls[0]));
    for (size_t k = 0; k < r->call_count; k++)
        r->starts[k] = NO_START;
}

/* Returns the index of the first call behind @at; r->call_count: none. */
static size_t call_behind(const struct reading *r, size_t at)
{
    return array_first(r->call_count, k, r->calls[k] <= at);
}

/* Stores @vaddr as a possible start of each function with a call of exit() behind it. */
static void note_start(struct reading *r, uint64_t vaddr)
{
    uint64_t at = vaddr - r->vaddr;

    if (vaddr < r->vaddr || at >= r->code.n)
        return;
    for (size_t k = call_behind(r, at); k < r->call_count && r->calls[k] - at <= FUNCTION_BYTES_MAX;
         k++) {
        if (r->starts[k] == NO_START || r->starts[k] < at)
            r->starts[k] = at;
    }
}

/* Decodes the last part of the code, and stores targets of calls and addresses that the code loads.
 * Decoding may begin inside an instruction, but soon finds the right boundaries. */
static void find_starts(struct reading *r)
{
    size_t at = r->code.n - MIN(r->code.n, DECODED_MAX_BYTES);
    ZydisDecodedInstruction i;

    for (unsigned count = 0; at < r->code.n && count < INSTRUCTIONS_MAX; at += i.length, count++) {
        uint64_t next;

        if (!decode(r, at, &i)) {
            i.length = 1;
            continue;
        }
        next = r->vaddr + at + i.length;
        if (!is_default(&i))
            continue;
        if (i.opcode == 0xe8)
            note_start(r, next + (uint64_t)i.raw.imm[0].value.s);
        else if (i.mnemonic == ZYDIS_MNEMONIC_LEA && i.raw.modrm.mod == 0 &&
                 i.raw.modrm.rm == BASE_RIP)
            note_start(r, next + (uint64_t)i.raw.disp.value);
        else if (i.mnemonic == ZYDIS_MNEMONIC_MOV && i.raw.imm[0].size == 32)
            note_start(r, (uint64_t)i.raw.imm[0].value.u);
    }
}

/* Adds the function with call @k of exit(): it begins at the nearest start before the call. */
static void add_caller(struct reading *r, size_t k)
{
    size_t call = r->calls[k];

    if (r->starts[k] != NO_START && call - r->starts[k] > 3)
        add_function(r, r->starts[k], call, 2 + is_wide(r, call - 2));
}

/* ---- the outermost ones ---- */

/* Adds _start and its callee. The callee jumps on, or makes a frame and calls. */
static void add_entry(struct reading *r, size_t at)
{
    const size_t call = at + MUSL_ENTRY_BYTES;
    ZydisDecodedInstruction i;
    uint64_t next;

    if (!musl_enters(span_from(r->code, at)) || !decode(r, call, &i) || i.opcode != 0xe8)
        return;
    add_root(r, at, call + CALL_BYTES);
    next = call + CALL_BYTES + (uint64_t)i.raw.imm[0].value.s;
    for (size_t c = next; c < r->code.n && c - next < FUNCTION_BYTES_MAX; c += i.length) {
        if (!decode(r, c, &i) || is_stop(&i))
            return;
        if (is_default(&i) && i.opcode == 0xe8) {
            add_function(r, next, c, 0);
            return;
        }
    }
}

static void add_threads(struct reading *r)
{
    const char *at = memmem(r->code.p, r->code.n, THREAD, sizeof(THREAD) - 1);

    if (at)
        add_root(r, (size_t)(at - r->code.p), (size_t)(at - r->code.p) + THREAD_CALL_BYTES);
}

int musl_read(struct span code, uint64_t vaddr, uint64_t entry, struct musl_rules *ret)
{
    _cleanup_free_ struct reading *r = calloc(1, sizeof(*r));

    ret->count = 0;
    if (!r)
        return -ENOMEM;
    *r = (struct reading){ .code = code, .vaddr = vaddr, .ret = ret };
    ZydisDecoderInit(&r->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisDecoderEnableMode(&r->decoder, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
    add_threads(r);
    find_calls(r);
    find_starts(r);
    for (size_t k = 0; k < r->call_count; k++)
        add_caller(r, k);
    if (entry >= vaddr && entry - vaddr < code.n)
        add_entry(r, entry - vaddr);
    return 0;
}
