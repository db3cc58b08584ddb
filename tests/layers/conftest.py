from tests.display.conftest import arms, browser, html, make_run, plain, public_html

__all__ = ["arms", "browser", "html", "make_run", "plain", "public_html"]
