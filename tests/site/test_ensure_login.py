"""``manage.py ensure_login``: one login for a fresh site."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command


@pytest.fixture
def data(settings, tmp_path):
    settings.DATA_DIR = tmp_path / "data"
    return settings.DATA_DIR


def test_a_random_password_is_printed_once_and_kept_privately(db, data, capsys):
    call_command("ensure_login")
    kept = data / "admin-password"
    password = kept.read_text().strip()
    assert len(password) >= 20
    assert kept.stat().st_mode & 0o777 == 0o600
    assert capsys.readouterr().out == f"login admin, password {password} (kept in {kept})\n"
    user = get_user_model().objects.get()
    assert user.is_superuser
    assert user.check_password(password)


def test_a_login_that_exists_is_left_as_it_is(db, data, capsys):
    call_command("ensure_login")
    user = get_user_model().objects.get()
    kept = (data / "admin-password").read_text()
    capsys.readouterr()
    call_command("ensure_login")
    assert capsys.readouterr().out == (
        f"login admin exists, its first password is kept in {data / 'admin-password'}\n"
    )
    assert get_user_model().objects.get().password == user.password
    assert (data / "admin-password").read_text() == kept


def test_a_file_of_an_earlier_database_is_replaced(db, data):
    data.mkdir()
    (data / "admin-password").write_text("stale")
    call_command("ensure_login")
    assert get_user_model().objects.get().check_password((data / "admin-password").read_text().strip())


def test_two_sites_get_different_passwords(db, data):
    call_command("ensure_login", username="ada")
    call_command("ensure_login", username="grace")
    assert (data / "ada-password").read_text() != (data / "grace-password").read_text()


def test_a_name_that_is_a_path_is_refused(db, data):
    with pytest.raises(CommandError, match=r"--username '\.\./x': Enter a valid username"):
        call_command("ensure_login", username="../x")
    assert get_user_model().objects.count() == 0
