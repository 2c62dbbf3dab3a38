"""What a scripted model does, by what the user said last: the same on every server."""

# Calls, step by step; those of one step come in one answer.
PLANS = {
    "server": [["echo"]],
    "client": [["locate"]],
    "mixed": [["echo", "locate"]],
    "mixed reversed": [["locate", "echo"]],
    "chain": [["echo"], ["locate"], ["echo"], ["locate"]],
    "parallel": [["echo", "echo"], ["locate", "locate"]],
    "approve": [["wipe"]],
}
ARGUMENTS = {"echo": {"text": "ä✓"}, "locate": {"what": "me"}, "wipe": {"what": "disk"}}


def next_step(users: list[str], results: list[str]) -> list[str] | str:
    """The names of the tools to call now, or the text that ends the turn.

    `users` is all that the user said, `results` what the tools said since.
    """
    if users[-1] == "fail":
        raise RuntimeError("secret")
    done = len(results)
    for step in PLANS.get(users[-1], []):
        if done < len(step):
            return step
        done -= len(step)
    return f"{len(users)}: {' '.join(results) or users[-1]}"
