// SPDX-License-Identifier: Apache-2.0
// The html format: reads the profile out of its own page and shows it.

import { Standalone, startStandalone } from "./standalone.js";
import { openProfile } from "../shared/tree.js";

startStandalone("profile", (data) => new Standalone(openProfile(data)));
