"""`touchpoint fx`: what exchange rates there are, and where they would come from."""


def test_stored_exchange_rates_are_printed_after_a_sync(touchpoint, deployment, tmp_path):
    config = deployment["config"]
    assert "fx.rates names their source" in " ".join(
        touchpoint("fx", "--config", config, code=1).output.split()
    )
    (tmp_path / "rates.csv").write_text("Date,USD,GBP\n2026-07-07,1.08,0.85\n2026-07-06,1.07,0.86\n")
    parameters = {"TOUCHPOINT_FX__RATES": f"rates:///{tmp_path}/rates.csv"}
    result = touchpoint("fx", "--read", "--config", config, **parameters).output
    assert result.startswith("2 currencies from 2026-07-06 to 2026-07-07, read at ")
    (tmp_path / "rates.csv").unlink()
    assert touchpoint("fx", "--config", config, **parameters).output == result
    assert "cannot be read" in touchpoint("fx", "--read", "--config", config, code=2, **parameters).output
