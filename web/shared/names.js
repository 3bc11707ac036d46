// SPDX-License-Identifier: Apache-2.0
// Names of frames: their parts, and how they are shortened when there is no room. People look for
// Class.method, so the package goes first, then the parameters, then outer classes, then the class, then characters from
// the left.

import { KIND, isJava, isNative, isSynthetic } from "./kinds.js";

const INLINED_IN = "[inlined in "; // of a loop that no record of the compiler explains

// "com.acme.Order.total(int):42_[j]" in parts; what is not there is "".
export function splitJavaName(name) {
    if (name.startsWith(INLINED_IN)) {
        const part = splitJavaName(name.slice(INLINED_IN.length));

        return part.type ? { ...part, type: INLINED_IN + part.type } : { ...part, method: name };
    }
    const suffix = /(?::\d+)?(?:_\[[a-z01]\])?$/.exec(name)[0];
    const rest = name.slice(0, name.length - suffix.length);
    const open = rest.indexOf("(");
    const params = open > 0 ? rest.slice(open) : "";
    const head = open > 0 ? rest.slice(0, open) : rest;
    const dot = head.lastIndexOf(".");
    const owner = dot > 0 ? head.slice(0, dot) : "";
    const method = dot > 0 ? head.slice(dot + 1) : head;
    let from = owner.lastIndexOf(".");

    if (!method || from === owner.length - 1) // no name of a method, or one that was cut
        return { pack: "", type: "", method: rest, params: "", suffix };
    // Hidden classes are "Outer$$Lambda.0x00007f…" or "Outer$$Lambda/0x…": the number belongs to the class.
    if (from > 0 && /^0x[0-9a-f]+$/.test(owner.slice(from + 1)))
        from = owner.lastIndexOf(".", from - 1);
    return {
        pack: from > 0 ? owner.slice(0, from) : "",
        type: from > 0 ? owner.slice(from + 1) : owner,
        method,
        params,
        suffix,
    };
}

// The parameters of a C++ or Rust symbol start at the "(" that matches the last ")".
function nativeParamsAt(name) {
    const close = name.lastIndexOf(")");
    let depth = 0;

    for (let i = close; i > 0; i--) {
        if (name[i] === ")")
            depth++;
        else if (name[i] === "(" && --depth === 0)
            return name.endsWith("operator", i) ? -1 : i;
    }
    return -1;
}

// @forms and, of a C++ function of a class without template arguments, its name alone.
function withoutScope(forms) {
    const last = forms[forms.length - 1], at = last.lastIndexOf("::");

    return at > 0 && /^[\w~]+$/.test(last.slice(at + 2)) ? [...forms, last.slice(at + 2)] : forms;
}

// The names of a method of a nested class without the classes around it, one after the other, then of the method alone.
function withoutOuter(type, method) {
    if (type.startsWith(INLINED_IN))
        return [];
    const parts = type.split("$").filter(Boolean), forms = [];

    for (let i = 1; i < parts.length && /^[\p{L}_]/u.test(parts[i]); i++)
        forms.push(`${parts.slice(i).join("$")}.${method}`);
    return type ? [...forms, method] : forms;
}

// What is tried in turn, longest first.
export function nameForms(name, kind) {
    const forms = [name];

    if (isJava(kind)) {
        const part = splitJavaName(name);
        const short = part.type ? part.type + "." + part.method : part.method;

        if (part.pack)
            forms.push(short + part.params + part.suffix);
        if (part.params || part.suffix)
            forms.push(short);
        forms.push(...withoutOuter(part.type, part.method));
    } else if (!isSynthetic(kind) && name.endsWith(")")) {
        const at = nativeParamsAt(name);

        if (at > 0)
            forms.push(name.slice(0, at));
    }
    return isNative(kind) ? withoutScope(forms) : forms;
}

export const LABEL_LEAST = 5; // characters: fewer say nothing
const ELIDED_LEAST = 8; // of a name that was cut

// The label for room of @max characters; "" when too few fit.
export function labelFor(forms, kind, max) {
    if (max < LABEL_LEAST)
        return "";
    for (const form of forms)
        if (form.length <= max)
            return form;
    const last = forms[forms.length - 1];

    if (isSynthetic(kind) || kind === KIND.UNKNOWN) // the beginning tells these apart
        return dropHalfPair(last.slice(0, max - 1)) + "…";
    if (max < ELIDED_LEAST)
        return "";
    return "…" + last.slice(last.length - max + 1).replace(/^[\udc00-\udfff]/, "");
}

function dropHalfPair(text) {
    return text.replace(/[\ud800-\udbff]$/, "");
}

// What neighbours in colour share: the package, the native name's namespace, or nothing.
export function colourFamily(name, kind, module) {
    if (isJava(kind))
        return splitJavaName(name).pack;
    if (isNative(kind)) {
        const at = name.indexOf("::");

        return at > 0 ? name.slice(0, at) : module;
    }
    if (kind === KIND.KERNEL)
        return name.split("_", 2).join("_");
    return "";
}

export function shortName(name, kind) {
    const part = isJava(kind) ? splitJavaName(name) : null;

    if (part)
        return part.type ? part.type + "." + part.method : part.method;
    const at = !isSynthetic(kind) && name.endsWith(")") ? nativeParamsAt(name) : -1;

    return at > 0 ? name.slice(0, at) : name;
}

// A main class without its package and a jar without its folders are what people look for.
// A sentence with classes without their packages.
export const shortClasses = (text) => text.replace(/\b(?:[a-z_][\w$]*\.)+(?=[A-Z])/g, "");

export function shortMain(main) {
    if (main.includes("/"))
        return main.slice(main.lastIndexOf("/") + 1) || main;
    return /\.jar$/.test(main) ? main : main.slice(main.lastIndexOf(".") + 1) || main;
}
