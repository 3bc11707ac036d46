#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on prose that has to be read twice, in documents, the API's description, comments and messages of C code.

What counts as a breach:
  width      a line of a document that is wider than 100 columns (not in a table, a block of code or a link)
  sentence   a sentence of more than 25 words, in documents, the comments of headers, openapi.json and the rows that
             the served openapi.json is made of
  cell       a cell of a table with more than 25 words
  paragraph  a paragraph or an item of a list with more than five lines of 100 columns
  docstring  a function in a header without a comment, or with one that begins with no verb (docstrings.py)
  word       a word or phrase of WORDS, which stands for a plainer one, in all of these, comments and messages,
             web/, systemd/, cmake/, run and test

  riddle     a phrase of RIDDLES, in comments and messages of C code: of each there may be as many as prose_riddles.txt
             says in the whole tree. Name the thing in its place

prose_debt.txt beside this file says how many breaches a file may still have. Its numbers may only become
smaller: a file with fewer breaches than its number fails, too, until the number follows (--lower).

Usage: prose.py TREE [--list [FILE...]] [--lower]
"""

import glob
import json
import os
import re
import sys

import docstrings

WIDTH = 100
SENTENCE_WORDS = 25
CELL_WORDS = 25
PARAGRAPH_CHARS = 5 * WIDTH

# What not to write, and what to write in its place.
WORDS = {
    r"whoever": "name the thing: the client, the caller, a user",
    r"who asks": "the caller, the client",
    r"anew": "again",
    r"likewise": "too, also",
    r"meanwhile": "say during what: while the capture runs",
    r"of which": "begin a new sentence",
    r"for so long|so long": "for this long, as long as",
    r"(?:is|are|was|were) told": "flamed reports, the message says",
    r"is to be had|are to be had": "is available",
    r"has it|have it": "name what it has",
    r"patience": "budget",
    r"left alone|leaves? (?:it )?alone": "quarantined, skipped",
    r"stand(?:s|ing)? still|stood still|standstill": "is stalled",
    r"for ever": "without end",
    r"takes? leave": "waits for, reaps",
    r"left behind|leaves? behind": "abandoned",
    r"comes? to nothing": "fails, makes no progress",
}
# Words that have a reader guess what is meant.
RIDDLES = ("tell|tells|told|telling", "nobody|somebody", "whose", "what is there", "as of")
# Not a parameter's name: @word, /* word= */.
WORD = re.compile(r"(?<!@)\b(?:" + "|".join(f"(?:{w})" for w in WORDS) + r")\b(?!=)", re.IGNORECASE)


def advice(found):
    return next(plain for word, plain in WORDS.items() if re.fullmatch(word, found, re.IGNORECASE))


def words(text):
    return sum(1 for word in text.split() if re.search(r"[^\W_]", word))


def plain(text):
    """The text as it is read: a piece of code is one word, a link its text."""
    text = re.sub(r"`[^`]*`", "code", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return text.replace("**", "").replace("...", "…")


def sentences(text):
    text = re.sub(r"\b(e\.g|i\.e|etc|vs)\.", r"\1", plain(text))
    return re.split(r"(?<=[.?!])[)\"']?\s+", text)


def long_sentences(text):
    for sentence in sentences(text):
        if words(sentence) > SENTENCE_WORDS:
            yield f"sentence of {words(sentence)} words: {sentence[:60]}..."


def private_words(text):
    for found in WORD.findall(re.sub(r"`[^`]*`", "code", text)):
        yield f"'{found}': {advice(found)}"


def blocks(lines):
    """Paragraphs, items of lists, rows of tables and headings of a document, as (line number, kind, text)."""
    number, kind, text, code = 0, "", [], False
    for at, line in enumerate(lines + [""], 1):
        fence = line.lstrip().startswith("```")
        bare = re.sub(r"^\s*(?:[-*]|\d+\.)\s+", "", line)
        starts = bare != line or line.startswith(("|", "#"))
        indented = line.startswith("    ") and not text
        if text and (fence or code or not line.strip() or starts):
            yield number, kind, " ".join(text)
            text = []
        if fence:
            code = not code
        elif not code and not indented and line.strip():
            if not text:
                number, kind = at, "row" if line.startswith("|") else "text"
            text.append(bare.strip())


def document_breaches(lines):
    code = False
    for at, line in enumerate(lines, 1):
        if line.lstrip().startswith("```"):
            code = not code
        wide = len(line) > WIDTH and not code and not line.startswith(("|", "    ", "!["))
        if wide and not re.fullmatch(r"\s*\S*\(?https?://\S+", line):
            yield at, f"{len(line)} columns wide"
    for at, kind, text in blocks(lines):
        for why in private_words(text):
            yield at, why
        if kind == "row":
            for cell in re.split(r"(?<!\\)\|", text.strip("| ")):
                if words(plain(cell)) > CELL_WORDS:
                    yield at, f"cell of {words(plain(cell))} words: {cell.strip()[:60]}..."
            continue
        for why in long_sentences(text):
            yield at, why
        if len(text) > PARAGRAPH_CHARS:
            yield at, f"paragraph of {len(text)} characters: {text[:60]}..."


def manual_breaches(lines):
    """A manual page: macros end a sentence's paragraph, but .I, .B and their like are words of it."""
    out, verbatim, tag = [], False, False
    for line in lines:
        if tag:
            out.append("")
        elif line in (".nf", ".fi"):
            verbatim = line == ".nf"
            out.append("")
        elif line.startswith('.\\"') or verbatim:
            out.append("")
        elif re.match(r"\.(?:I|B|BR|IR|RB|RI|BI|IB)\b", line):
            out.append(re.sub(r"^\.\w+ ", "", line).replace('"', "").replace(" ,", ","))
        else:
            out.append("" if line.startswith(".") else re.sub(r"\\f.|\\-", "", line))
        tag = line == ".TP"
    for at, kind, text in blocks(out):
        for why in [*long_sentences(text), *private_words(text)]:
            yield at, why


def comments(text):
    """The comments of C code, as (line number, text); a blank line, an item or "Return:" begins another."""
    for found in re.finditer(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*', text, re.DOTALL):
        if found.group().startswith('"'):
            continue
        at = text.count("\n", 0, found.start()) + 1
        piece = []
        for line in found.group().strip("/").split("\n"):
            line = re.sub(r"^\s*\*+ ?|\*+$|^/+ ?", "", line).rstrip()
            item = piece and piece[0].startswith("- ")
            drawing = re.search(r"[─-╿]|-->|<--|\+--", line) or re.match(r"    " if item else r"  ", line)
            starts = drawing or not line.strip() or re.match(r"\s*- |\s*Return:|SPDX|clang-format|Thread:", line)
            if starts and piece:
                yield at, " ".join(piece)
                piece = []
            if not drawing and line.strip():
                piece.append(line.strip())
        if piece:
            yield at, " ".join(piece)


# The tables whose rows have texts of the served openapi.json, in members of these names.
TABLES = ("daemon/serve/params/params.def", "daemon/serve/routes/routes.c")
ROW_TEXT = re.compile(r"\.(?:text|summary|answer|unready) =")


def row_texts(text):
    """Those texts, as (line number, text)."""
    for found in ROW_TEXT.finditer(text):
        at, said = next(messages(text[found.end() :]), (0, ""))
        yield text.count("\n", 0, found.end()) + at, said


def source_breaches(path, lines):
    for at, text in comments("\n".join(lines)):
        for why in private_words(text):
            yield at, why
        if path.endswith(".h"):
            for why in long_sentences(text):
                yield at, why
    for at, text in messages("\n".join(lines)):
        for why in private_words(text):
            yield at, why
    for at, text in row_texts("\n".join(lines)) if path in TABLES else ():
        for why in long_sentences(text):
            yield at, why


def messages(text):
    """The literals of C code that are more than a word, as (line number, text); neighbours are one."""
    code = re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: "\n" * m.group().count("\n"), text, flags=re.DOTALL)
    literal = r'"(?:\\.|[^"\\\n])*"'
    for found in re.finditer(literal + r"(?:\s*" + literal + ")*", code):
        said = "".join(piece[1:-1] for piece in re.findall(literal, found.group()))
        if " " in said.strip():
            yield code.count("\n", 0, found.start()) + 1, said


def described(value):
    """What openapi.json says to people."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in ("description", "summary") and isinstance(inner, str):
                yield inner
            else:
                yield from described(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from described(inner)


def breaches(path):
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    if path.endswith(".json"):
        said = set(described(json.loads("\n".join(lines))))
        return [(1, why) for text in sorted(said) for why in [*long_sentences(text), *private_words(text)]]
    if path.endswith(".md"):
        return list(document_breaches(lines))
    if path.endswith(".8"):
        return list(manual_breaches(lines))
    if not path.endswith((".c", ".h", ".def")):
        return [(at, why) for at, line in enumerate(lines, 1) for why in private_words(re.sub(r"\banew\b(?=:| =|\))", "", line))]
    found = list(source_breaches(path, lines))
    if path.endswith(".h"):
        found += [(at, f"{name}() has no comment") for at, name in docstrings.undocumented(path)]
        found += [(at, f"the comment of {name}() begins with '{word}', and not with a verb") for at, name, word in docstrings.verbless(path)]
    return sorted(found)


def riddles(paths):
    """How often each of RIDDLES is in the comments and messages of C code, as phrase -> number."""
    counts = dict.fromkeys(RIDDLES, 0)
    for path in paths:
        if path.endswith((".c", ".h", ".def")):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            said = " | ".join(piece for _, piece in [*comments(text), *messages(text)])
            for phrase in RIDDLES:
                counts[phrase] += len(re.findall(rf"\b(?:{phrase})\b", said, re.IGNORECASE))
    return counts


def files():
    found = ["README.md", "CHANGELOG.md", *glob.glob("docs/*.md"), *glob.glob("docs/*.8"), "daemon/serve/openapi.json", *TABLES]
    for folder in ("daemon", "agent"):
        found += glob.glob(f"{folder}/**/*.[ch]", recursive=True)
    found += ["run", "test", *glob.glob("web/*/*.js"), *glob.glob("systemd/*"), *glob.glob("cmake/*.*")]
    return sorted(name for name in set(found) if os.path.isfile(name))


def main():
    debt_file = os.path.join(os.path.dirname(os.path.abspath(__file__)), "prose_debt.txt")
    arguments = sys.argv[1:]
    os.chdir(arguments[0] if arguments else ".")
    own_tree = os.path.abspath("tests/lint") == os.path.dirname(debt_file)
    allowed = {}
    if own_tree and os.path.exists(debt_file):
        with open(debt_file, encoding="utf-8") as file:
            allowed = {name: int(number) for number, name in (line.split() for line in file if line[0] != "#")}
    found = {name: breaches(name) for name in files()}
    riddle_file = os.path.join(os.path.dirname(debt_file), "prose_riddles.txt")
    may_riddle = dict.fromkeys(RIDDLES, 0)
    if own_tree and os.path.exists(riddle_file):
        with open(riddle_file, encoding="utf-8") as file:
            may_riddle = {phrase: int(number) for number, phrase in (line.strip().split(" ", 1) for line in file if line[0] != "#")}
    counts = riddles(found)

    if "--list" in arguments:
        only = arguments[arguments.index("--list") + 1 :]
        for name in found:
            for at, why in found[name] if not only or name in only else []:
                print(f"{name}:{at}: {why}")
        return 0
    if "--lower" in arguments:
        with open(debt_file, "w", encoding="utf-8") as file:
            file.write("# Breaches of prose.py that a file still has. A number may only become smaller.\n")
            for name, list_ in found.items():
                left = min(len(list_), allowed.get(name, 0 if allowed else len(list_)))
                if left:
                    file.write(f"{left} {name}\n")
        with open(riddle_file, "w", encoding="utf-8") as file:
            file.write("# How often prose.py may find a phrase of RIDDLES, in tens. A number may only become smaller.\n")
            for phrase, count in counts.items():
                file.write(f"{min(-(-count // 10) * 10, may_riddle.get(phrase) or count + 10)} {phrase}\n")
        return 0
    bad = 0
    for phrase, count in counts.items():
        if count > may_riddle.get(phrase, 0):
            bad = 1
            print(f"'{phrase}' is in comments and messages {count} times, more than the {may_riddle.get(phrase, 0)} of "
                  "prose_riddles.txt: name the thing in its place")
    for name in sorted({*found, *allowed}):
        number, may = len(found.get(name, [])), allowed.get(name, 0)
        if number > may:
            bad = 1
            for at, why in found[name]:
                print(f"{name}:{at}: {why}")
            if may:
                print(f"{name}: {number} breaches; prose_debt.txt allows {may}")
        elif number < may:
            bad = 1
            print(f"{name}: {number} breaches, fewer than the {may} of prose_debt.txt: run tests/lint/prose.py . --lower")
    return bad


if __name__ == "__main__":
    sys.exit(main())
