from pydantic import Field, field_validator

from agui.conf_sections import Section


class RedisSettings(Section):
    """The Redis that several processes share."""

    environment = {"url": "REDIS_URL"}
    has_secrets = True

    url: str | None = Field(
        None,
        description="The Redis that carries events between processes; with None they stay in "
        "memory, and one process serves the site.",
    )

    @field_validator("url")
    @classmethod
    def _is_a_redis(cls, url: str | None) -> str | None:
        return None if url is None else _checked(url)


def _checked(url: str) -> str:
    try:
        from redis.asyncio import ConnectionPool

        ConnectionPool.from_url(url)
    except ImportError:
        raise ValueError("it needs packages: install agui-django[redis]") from None
    except ValueError:  # Its text may quote a part of the password.
        raise ValueError(
            "name a redis://, rediss:// or unix:// address, and percent-encode special characters "
            "in a password"
        ) from None
    return url
