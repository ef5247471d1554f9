"""Settings of the URL: ``argon2://?memory_kib=65536&rounds=3&max_concurrent=2``."""

from pydantic import Field

from service_core.plugin import AdapterSettings


class Argon2Settings(AdapterSettings):
    """The cost of a hash. A stored hash holds its own cost, so a change affects new passwords alone."""

    memory_kib: int = Field(65_536, ge=8, le=4_194_304, description="Memory of one hash in KiB.")
    rounds: int = Field(3, ge=1, le=100, description="Passes over that memory.")
    max_concurrent: int = Field(2, ge=1, le=64, description="Hashes at the same time; more wait.")
