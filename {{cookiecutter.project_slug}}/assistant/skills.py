"""Prompts written beforehand: buttons of an empty chat, and commands in the `/` palette."""

from agui import SkillRegistry

skills = SkillRegistry()

# The page sends this prompt as soon as the user chooses it.
skills.add(
    "plan_my_day",
    "Plan my day",
    "Look at my open tasks and propose an order for today, the most important ones first. "
    "Keep it short.",
    description="An order for today's tasks",
    send_immediately=True,
    chip=True,
)

skills.add(
    "chart_tasks",
    "Chart my tasks",
    "Draw a chart of my tasks, open and finished ones by category.",
    description="How many are open and done, by category",
    send_immediately=True,
    chip=True,
)

# This prompt fills the input: the user replaces {topic}, then sends it.
skills.add(
    "add_tasks",
    "Add several tasks",
    "Break {topic} down into three to five small tasks and add them, all in one fitting category.",
    description="Break something big down into tasks",
    chip=True,
)

# This prompt stays on the server: the client sends "/weekly_review".
skills.add(
    "weekly_review",
    "Weekly review",
    description="What got done, what is stuck, what comes next",
    server_prompt=(
        "Hold a weekly review with me. Count my tasks by category, list the open and the finished "
        "ones, then say in three short sections what got done, what seems stuck and what to do "
        "next. End with one question that helps me to decide. Don't change anything unless I ask "
        "for it."
    ),
)
