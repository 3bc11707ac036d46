# SPDX-License-Identifier: Apache-2.0
"""In the guest: all of test_flamed.py, with flamed in a container that has the rights of docs/container/daemonset.yaml, and no others."""
import shutil
import sys
import tempfile
import unittest

import test_flamed
import test_daemonset # tests/jvm, which is on the path now
from harness.daemon import Daemon


class Capabilities(test_flamed.Flamed):
    @classmethod
    def start(cls) -> Daemon:
        folder = tempfile.mkdtemp(prefix="flamed-daemonset.")
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        test_daemonset.write_bundle(folder, test_daemonset.read_daemonset())
        return Daemon(wait=False, wrap=[sys.executable, test_daemonset.RUN_BUNDLE, folder])


if __name__ == "__main__":
    unittest.main(verbosity=2)
