"""`touchpoint connection`: what is connected, noted from the terminal."""


def test_what_is_connected_is_noted_listed_and_forgotten(touchpoint, deployment):
    config = ("--config", deployment["config"])
    meta = ("connection", "add", "meta", "--account", "act_1=Main", "--asset", "act_1/1234=Shop pixel")
    assert touchpoint(*meta, *config).output.split() == ["meta", "connected", "act_1/1234"]
    touchpoint("connection", "add", "stripe", "--account", "acct_1", *config)
    broken = ("--status", "expired", "--error", "token expired")
    touchpoint("connection", "add", "stripe", "--account", "acct_1", *broken, *config)
    assert touchpoint("connection", "list", *config).output.splitlines() == [
        "meta connected act_1/1234",
        "stripe expired acct_1 token expired",
    ]
    touchpoint("connection", "remove", "meta", *config)
    assert touchpoint("connection", "list", *config).output.split()[0] == "stripe"


def test_what_is_noted_wrongly_is_refused_in_a_sentence(touchpoint, deployment):
    config = ("--config", deployment["config"])
    unknown = touchpoint("connection", "add", "myads", *config, code=2)
    assert "say what myads is for" in unknown.output
    assert touchpoint("connection", "add", "myads", "--kind", "ads", *config).output.startswith("myads")
    assert (
        "act_1/1234=Shop"
        in touchpoint("connection", "add", "meta", "--asset", "1234", *config, code=2).output
    )
    assert "meta is not connected" in touchpoint("connection", "remove", "meta", *config, code=2).output
