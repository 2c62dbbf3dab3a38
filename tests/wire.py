"""The generated project's own strict checks of a stream, for what a live server of it sends."""

import importlib.util
import sys

from conftest import ROOT, TEMPLATE_NAME

_spec = importlib.util.spec_from_file_location("agui_wire", ROOT / TEMPLATE_NAME / "agui/tests/wire.py")
assert _spec
assert _spec.loader
_module = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = _module  # Dataclasses look themselves up there
_spec.loader.exec_module(_module)

Stream, WireError = _module.Stream, _module.WireError
check_stream, read_stream = _module.check_stream, _module.read_stream
