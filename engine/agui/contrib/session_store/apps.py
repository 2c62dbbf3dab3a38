from agui.parts import Part


class SessionStoreConfig(Part):
    name = "agui.contrib.session_store"
    label = "agui_session_store"
    verbose_name = "Agent: conversations in sessions"
