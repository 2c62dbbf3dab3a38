"""agui/manual/recipes/, the page about tests: what each recipe claims."""


async def test_play_a_conversation(paste):
    assert await paste("test-and-evaluate#play-a-conversation").run_tests() == 3


async def test_test_what_users_see_of_a_failure(paste):
    assert await paste("test-and-evaluate#test-what-users-see-of-a-failure").run_tests() == 2
