"""What holds for every agent of this project, also for those that you add.

The engine's tests find all tools, routes and agents. An administrator without any rows calls each
tool once, with made-up arguments.
"""

from agui.contract_tests import *  # noqa: F403

# Tools that no test may call, for example because they send letters.
NOT_CALLED: set[str] = set()
# Addresses of agents that are meant for everybody (`require_authenticated=False`), as "/agent/".
PUBLIC: set[str] = set()
