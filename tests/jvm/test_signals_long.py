# SPDX-License-Identifier: Apache-2.0
"""What rises until it is used up has its own signal, in a container and by hand, and no other that matters; honest work beside it has
none."""
import unittest

from test_signals import OF_THE_NODE, Signals

# Fault -> its signal, and what makes it slow enough to live through the first minutes, in which growth is not looked for.
GROWING = {
    "leak": ("heap-growing", ("-Xmx160m", "-Dbytes=8192")),
    "threads": ("threads-growing", ("-Drest=1500",)),
    "descriptors": ("descriptors", ("-Drest=400",)),
}
YOUNG_S = 180 # what a JVM grows by in that time says nothing


class Growing(Signals):
    def test_each_has_its_own(self):
        running = {(how, place): start(how, *options) for how, (_, options) in GROWING.items()
                   for place, start in (("by hand", self.start), ("contained", self.contain))}
        controls = [self.start("busy"), self.contain("busy")]
        for (how, place), program in running.items():
            name = GROWING[how][0]
            with self.subTest(how=how, place=place):
                self.await_signal(name, program.pid, YOUNG_S + 60)
                others = {n: s["sentence"] for n, s in self.signals(program.pid).items()
                          if s["severity"] > 1 and n not in {name, *OF_THE_NODE}}
                self.assertEqual(others, {})
        for control in controls:
            self.assertEqual({n: s["sentence"] for n, s in self.signals(control.pid).items()
                              if s["severity"] > 1 and n not in OF_THE_NODE}, {})

    # Only what takes minutes is here.
    test_in_words = None
    test_how_it_ended = None


del Signals

if __name__ == "__main__":
    unittest.main()
