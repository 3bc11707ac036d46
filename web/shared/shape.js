// SPDX-License-Identifier: Apache-2.0
// What of a profile is looked at: the profile with the changes that the state names, and its trees, made when first
// needed and kept until the changes do.

import { buildTree, weighTree } from "./tree.js";
import { foldFrames } from "./fold.js";
import { mergeTiers } from "./tiers.js";
import { calleesOf, callersOf, hideIdle, hideMethods, selectThread } from "./transform.js";

// Trees from the root on that were made before: by profile.
export const grownTrees = new WeakMap();

export class Shape {
    // @threads of threadsOf().
    constructor(source, threads) {
        this.source = source;
        this.hasThreads = threads.length > 0;
        this.key = null;
    }

    // @state: {thread, hide, focus, sandwich, idle, frames, tiers}. Whether it differs from what was used before.
    use({ thread, hide, focus, sandwich, idle, frames, tiers }) {
        const key = JSON.stringify([thread, hide, focus, sandwich, idle, frames, tiers]);

        if (key === this.key)
            return false;
        let profile = this.source;

        if (!idle)
            profile = hideIdle(profile);
        if (!frames)
            profile = foldFrames(profile);
        if (!tiers)
            profile = mergeTiers(profile);
        if (this.hasThreads && thread !== "*")
            profile = selectThread(profile, thread);
        if (hide.length)
            profile = hideMethods(profile, hide);
        if (focus)
            profile = calleesOf(profile, focus);
        this.key = key;
        this.profile = profile;
        this.trees = {};
        this.isSandwich = Boolean(sandwich);
        this.method = sandwich;
        return true;
    }

    tree(name, make, weight) {
        const tree = this.trees[name] || (this.trees[name] = make());

        return tree.weight === weight ? tree : weighTree(tree, weight);
    }

    // From the root on, whatever is sandwiched or reversed.
    forward(weight) {
        return this.tree("forward", () => grownTrees.get(this.profile) || buildTree(this.profile), weight);
    }

    reversed(weight) {
        return this.tree("reversed", () => buildTree(this.profile, { reverse: true }), weight);
    }

    callers(weight) {
        return this.tree("callers", () => buildTree(callersOf(this.profile, this.method), { reverse: true }), weight);
    }

    callees(weight) {
        return this.tree("callees", () => buildTree(calleesOf(this.profile, this.method)), weight);
    }
}

// The same nodes as @tree with other widths, for beside it.
export function treeBeside(tree, weight) {
    return weighTree({ ...tree, x: new Float64Array(tree.count), levelLeft: null, levelRight: null }, weight);
}
