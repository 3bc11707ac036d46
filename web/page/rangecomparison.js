// SPDX-License-Identifier: Apache-2.0
// From the shown range of a JVM, or of the node, to its comparison with another.

import { openCompareMenu } from "./comparemenu.js";
import { formatRoute } from "./route.js";
import { rangeSide } from "./sides.js";

export class RangeComparison {
    // @target: a pid, or "" for the node. @on: {shown(), oldest(), chosen()}: the range that is looked at, where what is
    // recorded begins, the range that was chosen or null.
    constructor(target, timeline, on) {
        Object.assign(this, { target, timeline, on, other: null });
    }

    // Whether the next range that is chosen is what is compared with.
    get isPicking() {
        return Boolean(this.other);
    }

    menu(control) {
        const shown = this.on.shown();

        openCompareMenu(control, shown, this.on.oldest(), {
            range: (range) => this.with(range), drag: () => this.pick(shown), other: () => this.go(""),
        });
    }

    // The next range that is chosen is what @shown is compared with; null: not.
    pick(shown) {
        this.other = shown;
        this.timeline.setPrompt(shown ? "Drag over the time to compare with, or move there with ← → and press Enter." : "");
        if (shown)
            this.timeline.plot.focus();
        else
            this.timeline.setRange(this.on.chosen());
    }

    with(range) {
        this.go(rangeSide(this.target, range));
    }

    go(a) {
        location.hash = formatRoute("compare", "", { a, b: rangeSide(this.target, this.other || this.on.shown()) });
    }
}
