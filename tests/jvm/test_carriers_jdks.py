# SPDX-License-Identifier: Apache-2.0
"""Carriers before JDK 24: a monitor pins a virtual thread to its carrier."""
import test_carriers


class CarriersJdks(test_carriers.Carriers):
    test_signals = None

    def test_21(self):
        """Two virtual threads sleep within synchronized code."""
        self.check_pinned(self.start(21, "synchronized"), r"Carriers\.rest", "")
