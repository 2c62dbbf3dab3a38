import sys
from typing import Any

from agui.lazy_import import LazyImport
from agui.parts import Part

# This module imports Twisted, which no other server needs.
daphne_patches = LazyImport("agui.contrib.pacing.daphne_patches")


class PacingConfig(Part):
    name = "agui.contrib.pacing"
    label = "agui_pacing"
    verbose_name = "Agent: pacing"

    def wrap_application(self, application: Any) -> Any:
        if "daphne.server" in sys.modules:
            daphne_patches.pace_daphne()
        return application
