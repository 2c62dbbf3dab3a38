"""The models that a module of tools uses, and what they are called there."""

from typing import Any

from agui.contrib.agentify.describe import ModelInfo, is_own_model


def manager_of(model: Any) -> str:
    """Return the name of the default manager, which need not be `objects`."""
    manager = model._meta.default_manager
    is_objects = getattr(model, "objects", None) is not None and manager.name == "objects"
    return "objects" if is_objects else "_default_manager"


def variables_of(info: ModelInfo) -> dict[Any, str]:
    """Name the models that the module uses: the model, and those of which rows may be chosen."""
    variables: dict[Any, str] = {info.model: info.model.__name__}
    for item in info.fields:
        model = item.related
        if item.name not in info.choosable or model is None or model in variables:
            continue
        name = model.__name__
        if name in variables.values():
            name = f"{model._meta.app_label.title().replace('_', '')}{name}"
        variables[model] = name
    return variables


def is_imported(model: Any, variable: str) -> bool:
    """Whether the module imports a model; other models come from `rows.model`."""
    return variable == model.__name__ and is_own_model(model)
