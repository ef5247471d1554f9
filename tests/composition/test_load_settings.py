"""Settings come from the file and the environment; a name nobody knows stops the start."""

import os

import pytest

from hosts.composition.load_settings import (
    list_setting_names,
    load_settings_with_environment,
)
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import Settings


@pytest.fixture(autouse=True)
def _without_touchpoint_variables(monkeypatch):
    for name in [name for name in os.environ if name.startswith("TOUCHPOINT_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def write_settings(tmp_path):
    def write(text):
        path = tmp_path / "touchpoint.toml"
        path.write_text(text)
        return path

    return write


def startup_error(path):
    with pytest.raises(StartupError) as caught:
        load_settings_with_environment(path)
    return str(caught.value)


def test_defaults_work_without_a_settings_file():
    settings = load_settings_with_environment(None)
    assert settings.storage.events == "duckdb:///events.duckdb"
    assert settings.storage.workspace == "sqlite:///workspace.db"
    assert (settings.http.server, settings.http.effective_api_url) == ("hypercorn", "http://127.0.0.1:8080")


@pytest.mark.parametrize(
    ("section", "server"),
    [
        ("", "uvicorn"),
        ('ingest_server = "granian"', "granian"),
        ("cleartext_http2 = true", "hypercorn"),
        ('cleartext_http2 = true\ningest_server = "uvicorn"', "uvicorn"),
        ('server = "granian"', "uvicorn"),
    ],
)
def test_ingest_host_has_a_server_of_its_own(section, server, write_settings):
    settings = load_settings_with_environment(write_settings(f"[http]\n{section}\n"))
    assert settings.http.effective_ingest_server == server


@pytest.mark.parametrize(
    ("http", "named"),
    [
        ({"api": "192.0.2.7:80"}, "http://192.0.2.7:80"),
        ({"api": "0.0.0.0:80"}, "http://127.0.0.1:80"),
        ({"api": "[::]:80"}, "http://[::1]:80"),
        ({"api": "0.0.0.0:80", "root_url": "https://t.example/"}, "https://t.example"),
    ],
)
def test_default_root_url_is_reachable(http, named):
    settings = Settings.model_validate({"http": http})
    assert (settings.http.effective_api_url, settings.http.effective_app_url) == (named, f"{named}/app")


def test_every_setting_is_described():
    assert len(list_setting_names()) == len(set(list_setting_names()))
    for name in list_setting_names():
        section, _, line = name.partition(".")
        assert Settings.model_fields[section].annotation.model_fields[line].description


def test_file_overrides_defaults_and_the_environment_overrides_the_file(write_settings, monkeypatch):
    monkeypatch.setenv("TOUCHPOINT_HTTP__API", "0.0.0.0:9000")
    settings = load_settings_with_environment(
        write_settings('[http]\napi = "0.0.0.0:1"\nserver = "uvicorn"\n[geo]\ndatabase = "mmdb:///c"\n')
    )
    assert (settings.http.api, settings.http.server) == ("0.0.0.0:9000", "uvicorn")
    assert settings.geo.database == "mmdb:///c"


def test_list_in_the_environment_is_json(monkeypatch):
    monkeypatch.setenv("TOUCHPOINT_INGEST__TRUSTED_PROXIES", '["10.0.0.0/8"]')
    assert load_settings_with_environment(None).ingest.trusted_proxies == ("10.0.0.0/8",)
    monkeypatch.setenv("TOUCHPOINT_INGEST__TRUSTED_PROXIES", "10.0.0.0/8")
    assert "JSON" in startup_error(None)


def test_unrelated_environment_variables_are_ignored(monkeypatch):
    monkeypatch.setenv("TOUCHPOINT_CONFIG", "x.toml")
    monkeypatch.setenv("TOUCHPOINT_FAULTS", "full")
    assert load_settings_with_environment(None).http.api == "127.0.0.1:8080"


@pytest.mark.parametrize(
    ("text", "name", "near"),
    [
        ('[storage]\nevent = "x://"', "storage.event", "storage.events"),
        ('[stroage]\nevents = "x://"', "stroage.events", "storage.events"),
        ('[http]\nserve = "uvicorn"', "http.serve", "http.server"),
        ('events = "x://"', "events", "storage.events"),
    ],
)
def test_unknown_setting_is_named_with_the_closest_known_one(write_settings, text, name, near):
    result = startup_error(write_settings(text))
    assert f"Unknown setting {name} in " in result
    assert f"Did you mean {near}?" in result


def test_setting_that_resembles_none_is_answered_with_those_of_its_section(write_settings):
    result = startup_error(write_settings('[exports]\njobs = "inline://"'))
    assert "Unknown setting exports.jobs in " in result
    assert "Settings: exports.queue, exports.storage, exports.max_import_bytes." in result


@pytest.mark.parametrize("variable", ["TOUCHPOINT_HTTP__APIS", "TOUCHPOINT_HTTP_API", "TOUCHPOINT_HTPP__API"])
def test_unknown_variable_is_named_with_the_closest_known_setting(monkeypatch, variable):
    monkeypatch.setenv(variable, "x")
    result = startup_error(None)
    assert variable in result
    assert "http.api" in result
    assert "TOUCHPOINT_<SECTION>__<NAME>" in result


def test_invalid_value_error_names_the_setting(write_settings):
    result = startup_error(write_settings('[http]\nserver = "apache"'))
    assert "http.server" in result
    assert "hypercorn" in result


def test_section_that_is_no_table_is_refused(write_settings):
    assert "http" in startup_error(write_settings('http = "127.0.0.1"'))


def test_missing_or_broken_file_error_says_what_to_do(tmp_path, write_settings):
    assert "touchpoint init" in startup_error(tmp_path / "none.toml")
    assert "cannot be read" in startup_error(write_settings("[http"))
