from typing import TYPE_CHECKING, Any

from agui.parts import Part

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage


class DocumentsConfig(Part):
    name = "agui.contrib.documents"
    label = "agui_documents"
    verbose_name = "Agent: documents"
    page_modules = {"activity:document": "agui_documents/documents.js"}

    def annotate_answer(self, run: Any, new: "list[ModelMessage]") -> None:
        # This import loads pydantic-ai, which start-up doesn't need.
        from agui.contrib.documents.stored import join_pieces

        join_pieces(new)
