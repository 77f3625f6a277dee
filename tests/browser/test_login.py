"""The login that ``./run`` creates, in a real browser."""


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
