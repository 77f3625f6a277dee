"""The login that ``./run`` creates, in a real browser."""

import re


def test_the_printed_password_opens_the_admin(page, live_site):
    page.goto("/admin/")
    page.get_by_label("Name").fill("admin")
    page.get_by_label("Password").fill(live_site.password)
    page.get_by_role("button", name="Log in").click()
    page.get_by_text("Site administration").first.wait_for()
    assert page.url == live_site + "/admin/"


def test_the_login_page_works_on_a_phone(phone_page, live_site):
    phone_page.goto("/login/")
    phone_page.get_by_label("Name").fill("admin")
    phone_page.get_by_label("Password").fill(live_site.password)
    assert phone_page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    phone_page.get_by_role("button", name="Log in").click()
    phone_page.wait_for_url(live_site + "/")


def test_after_a_logout_going_back_shows_nothing_private(page, live_site):
    page.goto("/login/?next=/notices/")
    page.get_by_label("Name").fill("admin")
    page.get_by_label("Password").fill(live_site.password)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(live_site + "/notices/")
    page.goto("/account/second-step/")
    page.get_by_role("heading", name="How you log in").wait_for()
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url(live_site + "/")
    for _ in range(2):
        page.go_back()
        page.wait_for_url(re.compile("/login/.next="))
        assert page.get_by_text("How you log in").count() == 0


def test_a_second_step_is_set_up_by_hand(page, live_site):
    page.goto("/login/?next=/account/second-step/")
    page.get_by_label("Name").fill("admin")
    page.get_by_label("Password").fill(live_site.password)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("link", name="Set up a second step").click()
    picture = page.get_by_role("img", name="QR code of the secret below")
    assert picture.evaluate("image => image.complete && image.naturalWidth > 0")
    page.get_by_label("Code of your authenticator app").fill("000000")
    page.get_by_role("button", name="Set it up").click()
    page.get_by_text("Incorrect code.").wait_for()
