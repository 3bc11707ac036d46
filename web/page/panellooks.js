// SPDX-License-Identifier: Apache-2.0
// How the page opens a profile: without what is the same for each of them, as wide as the window allows.

import { isNarrow, isWide } from "../shared/dom.js";

export function panelLooks() {
    return { title: false, thread: "", icicle: isNarrow(), table: isWide(), idle: false, frames: false, tiers: false, brief: true };
}
