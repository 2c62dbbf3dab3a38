"""Documents that tools show beside the conversation (`show_document`)."""
