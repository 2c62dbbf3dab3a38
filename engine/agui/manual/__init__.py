"""The manual. `python -m agui.manual` lists its pages, with the paths where they are installed."""
