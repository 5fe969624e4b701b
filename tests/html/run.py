"""The page of a run of a thousand steps in a real browser: what it loads, holds, looks like, and how it is used by keys.

    run.py PROGRAMS BROWSER [--pictures FOLDER] [--turns N]
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

from browser import Browser, browser, pixels
from make_run import HOSTILE, TASK, make_run

# What is read must stand out from what it stands on, by the measure of WCAG 2.
CONTRAST = """
(() => {
  const part = (value) => { value /= 255; return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4; };
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([red, green, blue]) => 0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue);
  const under = (element) => {
    for (; element; element = element.parentElement) {
      const colour = parse(getComputedStyle(element).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const names = ["h1", ".name", ".prompt", ".answer h2", "dt", "dd", "nav a", "button", "button[aria-pressed=true]",
    ".badge.good", ".badge.bad", ".badge.plain", ".time", ".aside", ".rationale", "summary", "pre", "ins", "del", ".diff b",
    ".diff i", ".plus", ".minus", "figcaption", "footer", "th", ".layers li", ".noted summary"];
  return names.map((name) => {
    const element = document.querySelector(name);
    if (!element) return [name, 0];
    const [one, two] = [parse(getComputedStyle(element).color), under(element)].map(light);
    return [name, (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05)];
  });
})()
"""


def entries(page: Browser, selector: str = "") -> int:
    seen = f"[...document.querySelectorAll('.timeline>li{selector}')].filter((entry) => entry.offsetParent).length"
    return page.evaluate(seen)


def it_loads_nothing_and_nobody_complains(page: Browser, path: Path) -> None:
    page.open(path)
    assert page.requests == [path.as_uri()], page.requests
    assert page.complaints == [], page.complaints


def nothing_anybody_wrote_became_markup(page: Browser, path: Path) -> None:
    page.open(path)
    assert page.evaluate("typeof pwned") == "undefined"
    assert page.evaluate("document.scripts.length") == 1
    assert page.evaluate("document.querySelectorAll('img,iframe,object,embed,link,base,form').length") == 0
    assert page.evaluate("document.querySelectorAll('[onerror],[onclick],[style]').length") == 0
    assert page.evaluate("document.querySelector('h1').textContent") == "A <i>hostile</i> \\u{202e}title"
    assert page.evaluate("document.title") == "A <i>hostile</i> \\u{202e}title · Microcoder"
    prompt = page.evaluate("document.querySelector('.prompt').textContent")
    assert prompt == "Make the page <b>lie</b>.\n</script><script>pwned=1</script>\n\\u{202e}back to front", prompt
    first = page.evaluate("document.querySelector('.command .output pre').textContent")
    assert first == "</pre></script><script>pwned=1</script><img src=x onerror=pwned=1>", first
    text = page.evaluate("document.body.textContent")
    assert "red \\u{1b}[2J\\u{1b}]0;owned\\u{7} \\u{202e} \ufffd\ufffd" in text
    assert not [character for character in text if ord(character) < 32 and character != "\n"]
    # The page's own script could not be replaced either: the policy holds for what would be added.
    page.evaluate("document.body.append(Object.assign(document.createElement('script'), {textContent: 'pwned=1'}))")
    assert page.evaluate("typeof pwned") == "undefined"
    page.complaints.clear()


def every_step_is_there(page: Browser, path: Path) -> None:
    page.open(path)
    turns = page.evaluate("document.querySelectorAll('.timeline>li.model').length")
    commands = page.evaluate("document.querySelectorAll('.timeline>li.command').length")
    assert turns == OPTIONS.turns, turns
    assert commands == turns - 2 + len(HOSTILE), commands
    assert entries(page) >= 1000 or OPTIONS.turns < 340, entries(page)
    # No name is given twice, and a time leads to its entry.
    names = page.evaluate("[...document.querySelectorAll('[id]')].map((element) => element.id)")
    assert len(set(names)) == len(names)
    page.evaluate("document.querySelector('.timeline>li:nth-of-type(9) .time').click()")
    assert page.evaluate("document.querySelector('.timeline>li:target').matches(':nth-of-type(9)')")
    folded = "document.querySelectorAll('.command')[3].querySelector('.fold')"
    assert not page.evaluate(f"{folded}.open")
    assert page.evaluate(f"{folded}.textContent.includes('\\n1000\\n')")
    long = page.evaluate("Math.max(...[...document.querySelectorAll('pre')].map((block) => block.textContent.length))")
    assert long < 200_000, long


def the_change_is_shown_line_by_line(page: Browser, path: Path) -> None:
    page.open(path)
    files = page.evaluate("[...document.querySelectorAll('.diff summary code')].map((name) => name.textContent)")
    assert sorted(files) == ["added.html", "kept.txt", "notes.txt"], files
    assert page.evaluate("document.querySelector('ins').textContent") == "+<b>one</b>\n"
    removed = page.evaluate("[...document.querySelectorAll('del')].map((line) => line.textContent)")
    assert removed == ["-first\n", "-second\n"], removed


def it_fits_and_is_no_blank(page: Browser, path: Path) -> None:
    page.open(path)
    for width, height in ((1200, 900), (800, 900), (390, 844)):
        page.size(width, height)
        for scheme, lightest, darkest in (("light", 256, 150), ("dark", 110, -1)):
            page.scheme(scheme)
            for part in ("body", "#timeline", "#evidence"):
                page.evaluate(f"document.querySelector('{part}').scrollIntoView({{behavior: 'instant'}})")
                page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
                wide = page.evaluate("document.documentElement.scrollWidth")
                assert wide <= width, f"{part} is {wide} wide on a screen of {width}"
                picture = page.picture()
                if OPTIONS.pictures:
                    (OPTIONS.pictures / f"{width}-{scheme}-{part.strip('#')}.png").write_bytes(picture)
                if width == 390:
                    colours, light = pixels(picture)
                    assert colours > 20, f"{part}: {colours} colours"
                    assert darkest < light < lightest, f"{part}, {scheme}: {light}"


def text_stands_out_in_light_and_dark(page: Browser, path: Path) -> None:
    page.open(path)
    for scheme in ("light", "dark"):
        page.scheme(scheme)
        low = [(name, round(ratio, 2)) for name, ratio in page.evaluate(CONTRAST) if ratio < 4.5]
        # Nothing was renamed, added or moved here, so there is no line about it to look at.
        assert [name for name, _ in low if name != ".diff i"] == [], f"{scheme}: {low}"


def keys_are_enough(page: Browser, path: Path) -> None:
    page.size(1200, 900)
    page.open(path)
    page.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.press("Enter")
    assert page.evaluate("location.hash") == "#timeline"
    page.press("j")
    page.press("j")
    second = page.evaluate("document.activeElement.id")
    page.press("j")
    page.press("k")
    assert page.evaluate("document.activeElement.id") == second != ""
    assert page.evaluate("document.activeElement.matches('.timeline>li:nth-of-type(2)')")
    page.evaluate("document.querySelector('[data-show=failed]').focus()")
    page.press("Enter")
    assert page.evaluate("document.querySelector('[data-show=failed]').getAttribute('aria-pressed')") == "true"
    assert 0 < entries(page) == entries(page, ".failed") < 20
    page.evaluate("document.querySelector('[data-show=all]').focus()")
    page.press("Enter")
    assert entries(page) > 20
    page.evaluate("document.querySelector('[data-fold=open]').click()")
    assert page.evaluate("document.querySelectorAll('main details:not([open])').length") == 0
    page.evaluate("document.querySelector('[data-fold=shut]').click()")
    assert page.evaluate("document.querySelectorAll('main details[open]').length") == 0


def without_its_script_it_says_as_much(page: Browser, path: Path) -> None:
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.open(path)
        assert entries(page) > OPTIONS.turns
        assert page.evaluate("document.querySelector('.tools').offsetParent === null")
    finally:
        page.call("Emulation.setScriptExecutionDisabled", value=False)


TESTS = (
    it_loads_nothing_and_nobody_complains,
    nothing_anybody_wrote_became_markup,
    every_step_is_there,
    the_change_is_shown_line_by_line,
    it_fits_and_is_no_blank,
    text_stands_out_in_light_and_dark,
    keys_are_enough,
    without_its_script_it_says_as_much,
)


def main() -> int:
    failed = 0
    with tempfile.TemporaryDirectory(prefix="html-") as folder:
        root = Path(folder)
        store = make_run(OPTIONS.programs, root, OPTIONS.turns)
        page = root / "page.html"
        begun = time.monotonic()
        view = [OPTIONS.programs / "coder", "task", "view", TASK, "--store", store, "--html"]
        subprocess.run([*view, page], check=True)
        written = time.monotonic() - begun
        subprocess.run([*view, root / "again.html"], check=True)
        assert page.read_bytes() == (root / "again.html").read_bytes(), "the same store gave two pages"
        if OPTIONS.pictures:
            OPTIONS.pictures.mkdir(parents=True, exist_ok=True)
            shutil.copy(page, OPTIONS.pictures / "page.html")
        with browser(OPTIONS.browser) as driven:
            begun = time.monotonic()
            driven.open(page)
            shown = time.monotonic() - begun
            print(f"{entries(driven)} entries, {page.stat().st_size} bytes: written in {written:.2f} s, shown in {shown:.2f} s")
            for test in TESTS:
                try:
                    test(driven, page)
                    print(f"ok      {test.__name__}")
                except (AssertionError, RuntimeError):
                    failed += 1
                    print(f"FAILED  {test.__name__}")
                    traceback.print_exc(file=sys.stdout)
    print(f"{len(TESTS) - failed} passed, {failed} failed")
    return int(failed > 0)


PARSER = argparse.ArgumentParser(description=__doc__)
PARSER.add_argument("programs", type=Path)
PARSER.add_argument("browser")
PARSER.add_argument("--pictures", type=Path)
PARSER.add_argument("--turns", type=int, default=340)
OPTIONS = PARSER.parse_args()
if __name__ == "__main__":
    sys.exit(main())
