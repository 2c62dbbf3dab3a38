"""What the marks of threads are kept in. (transcripts/marks.yaml has what users do with them.)"""

import pytest

from agui.models import Run, get_conversation_model
from agui.testing import say
from tests.conftest import Client, script

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]


async def test_a_run_of_a_dead_process_does_not_run(client: Client):
    with script(say("Fine.")):
        await client.run("Hello")
    await Run.objects.aupdate(status=Run.Status.RUNNING, seen_at="2020-01-01T00:00Z")
    [row] = (await client.get("threads/")).json()["threads"]
    assert not row["running"]


@pytest.mark.parametrize("name", ["pinned", "archived"])
def test_the_database_fills_the_columns_for_older_processes(name: str):
    assert get_conversation_model()._meta.get_field(name).has_db_default()
