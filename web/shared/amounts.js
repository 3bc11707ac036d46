// SPDX-License-Identifier: Apache-2.0
// What the two sides of a comparison amount to, in the unit of their event. What grows with the length of a capture
// (time, bytes, counts) stands there per second if the two differ in length. What is there at its end stays as it is.

import { formatSeconds, formatValue } from "./format.js";

const SAME_LENGTH = 0.01; // parts that two lengths may differ by

const NO_CHANGE = 1e-9; // parts of an amount that arithmetic makes of nothing

// Small rates need digits behind the point; bytes and times have smaller units.
function amountText(n, unit) {
    return unit === "nanoseconds" || unit === "bytes" || n >= 100 || Number.isInteger(n) ? formatValue(n, unit)
        : `${n.toFixed(n < 9.995 ? 2 : 1)}\u00a0${unit === "count" ? "events" : unit}`;
}

export class Amounts {
    // @before, @after: {unit, seconds, stock} of either side. A side without a unit, or another one: there are none.
    constructor(before, after) {
        this.sides = [before, after];
        this.unit = before.unit === after.unit && before.unit || "";
        this.isStock = Boolean(before.stock && after.stock);
        this.differ = Math.abs(before.seconds - after.seconds) > SAME_LENGTH * Math.max(before.seconds, after.seconds);
        this.areRates = this.differ && !this.isStock && before.seconds > 0 && after.seconds > 0;
    }

    // What @value of side 0 (before) or 1 is to be compared as.
    of(side, value) {
        return this.areRates ? value / this.sides[side].seconds : value;
    }

    // @amount: of of().
    text(amount) {
        return amountText(amount, this.unit) + (this.areRates ? "/s" : "");
    }

    // "+12.3 MiB", "−1.2 s"; "±0" where nothing changed. @before, @after: amounts.
    changeText(before, after) {
        const change = Math.abs(after - before);

        return change <= NO_CHANGE * Math.max(before, after) ? "±0" : (after > before ? "+" : "−") + this.text(change);
    }

    // What to know of sides that differ in length; "" where they do not.
    note() {
        if (!this.differ)
            return "";
        const [before, after] = this.sides.map(({ seconds }) => formatSeconds(seconds));

        return this.isStock ? `The captures took ${before} and ${after}: each has only what was allocated during it.`
            : this.areRates ? `Per second, as the sides are ${before} and ${after} long.` : "";
    }
}
