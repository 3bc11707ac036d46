// SPDX-License-Identifier: Apache-2.0
// Colours by package in place of kind: whose code it is, in place of how it ran.

import { hashText, hexOf, paletteOf, rgbOfOklch } from "./colors.js";
import { KIND, isJava, isSynthetic } from "./kinds.js";
import { splitJavaName } from "./names.js";
import { escapeRegex } from "./search.js";

const PACKAGE_HUES = 18;
const PACKAGE_SHADES = { light: [[0.86, 0.085], [0.77, 0.105]], dark: [[0.43, 0.085], [0.53, 0.1]] }; // lightness, chroma
const NO_PACKAGE = "(no package)";

// Packages of the JDK, of languages and of frameworks: not the application's own.
const LIBRARIES = /^(?:java|javax|jakarta|jdk|sun|com\.sun|kotlin|kotlinx|scala|clojure|groovy|org\.(?:springframework|apache|eclipse|hibernate|jboss|glassfish|jooq|slf4j|codehaus|postgresql|reactivestreams|aspectj|mariadb)|io\.(?:netty|grpc|vertx|micrometer|micronaut|quarkus|opentelemetry|undertow|reactivex|lettuce)|com\.(?:google|fasterxml|zaxxer|mysql|datadog|github\.benmanes)|ch\.qos|reactor|akka|play|net\.bytebuddy|okhttp3|redis|datadog)(?:\.|$)/;

// Whether a Java method with that name belongs to the JDK or a library.
export function isLibrary(pack) {
    return LIBRARIES.test(pack);
}

// A package, and all below it. Any text may be one: that of processes is theirs to choose.
const withBelow = (packs) => new RegExp(`^(?:${packs.map(escapeRegex).join("|")})(?:\\.|$)`, "u");

const LAUNCHERS = /^org\.springframework\.boot\.loader/;
const OWN_PARTS = 3; // of a main class's package: org.apache.kafka is of Kafka, org.apache of many

// Packages of the main classes @mains that would else count as a library's: Kafka's own code is Kafka's.
export function ownPackages(mains) {
    return [...new Set(mains.map((main) => splitJavaName(main.slice(main.lastIndexOf("/") + 1) + ".main").pack).filter((pack) => LIBRARIES.test(pack) && !LAUNCHERS.test(pack))
        .map((pack) => pack.split(".").slice(0, OWN_PARTS).join(".")))];
}

const ownCode = { chosen: null, mains: null };

// @mine: packages with commas between them that a person gave, "": none. @mains: main classes.
export function chooseOwn(mine, mains) {
    const packs = mine.split(",").filter(Boolean), own = ownPackages(mains);

    ownCode.chosen = packs.length ? withBelow(packs) : null;
    ownCode.mains = own.length ? withBelow(own) : null;
}

// Whether a Java method of that package is dimmed: it is not the application's own.
export function isForeign(pack) {
    if (ownCode.chosen)
        return pack !== "" && !ownCode.chosen.test(pack);
    return isLibrary(pack) && !(ownCode.mains && ownCode.mains.test(pack));
}

// "" of what belongs to nobody: threads, processes, nameless frames.
export function packageOf({ name, kind, module }) {
    if (isJava(kind))
        return splitJavaName(name).pack || NO_PACKAGE;
    if (kind === KIND.CLASS)
        return name.slice(0, Math.max(name.lastIndexOf("."), 0)) || NO_PACKAGE;
    if (kind === KIND.KERNEL)
        return "kernel";
    if (kind === KIND.JVM || kind === KIND.STUB)
        return "JVM";
    if (kind === KIND.NATIVE || kind === KIND.NATIVE_INLINED)
        return module.slice(module.lastIndexOf("/") + 1) || "native";
    return "";
}

// The same package has the same colour in every profile.
export function packageColour(pack, theme) {
    const hash = hashText(pack);
    const [light, chroma] = PACKAGE_SHADES[theme][(hash >>> 8) % 2];

    return pack ? hexOf(rgbOfOklch(light, chroma, (hash >>> 10) % PACKAGE_HUES * (360 / PACKAGE_HUES))) : paletteOf(theme).kind(KIND.UNKNOWN);
}

const coloursOf = new WeakMap(); // of a profile's groups, by theme

// What Graph.tint is while packages are shown.
export function packageTint(tree, node, theme) {
    const { groups } = tree.profile;
    let known = coloursOf.get(groups);

    if (node === 0)
        return paletteOf(theme).root;
    if (!known)
        coloursOf.set(groups, known = {});
    if (!known[theme])
        known[theme] = groups.map((group) => (isSynthetic(group.kind) ? paletteOf(theme).kind(group.kind)
            : packageColour(packageOf(group), theme)));
    return known[theme][tree.group[node]];
}

// [{pack, weight}] of the packages whose frames were running, those that weigh most first.
export function sumPackages(tree, node = 0) {
    const weights = new Map(), packs = tree.profile.groups.map(packageOf);

    for (let i = Math.max(node, 1); i < tree.end[node]; i++)
        if (tree.self[i]) {
            const pack = packs[tree.group[i]];

            weights.set(pack, (weights.get(pack) || 0) + tree.self[i]);
        }
    return [...weights].map(([pack, weight]) => ({ pack, weight }))
        .sort((a, b) => b.weight - a.weight || (a.pack < b.pack ? -1 : 1));
}
