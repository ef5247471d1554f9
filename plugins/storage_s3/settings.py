"""Settings of the URL: ``s3://key:secret@bucket/prefix?region=eu-central-1&endpoint=https://…``."""

from typing import Self

from pydantic import Field, model_validator

from service_core.plugin import AdapterSettings


class S3Settings(AdapterSettings):
    """The bucket and its credentials.

    Attributes:
        region: of the bucket; most stores that are not Amazon's take any.
        endpoint: address of a store that is not Amazon's; ``http`` only for tests and private networks.
        path_style: put the bucket into the path of addresses, as stores with an own endpoint mostly want.
    """

    region: str = Field("us-east-1", min_length=1)
    endpoint: str | None = Field(None, pattern=r"^https?://")
    path_style: bool | None = None

    @property
    def bucket(self) -> str:
        """The name of the bucket."""
        assert self.host is not None
        return self.host

    @property
    def prefix(self) -> str | None:
        """The prefix of file names."""
        return str(self.path).strip("/") if self.path is not None else None

    @model_validator(mode="after")
    def _require_bucket(self) -> Self:
        if self.host is None or self.port is not None:
            raise ValueError("name a bucket, as in s3://bucket/prefix")
        if (self.user is None) != (self.password is None):
            raise ValueError("give key and secret, or neither to take them from the environment")
        return self
