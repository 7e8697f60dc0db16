"""The icons that the pages get: those that they name, by any of their names, and no other."""

from bindlib.book.vendor import icons_in, thin_icons

SCRIPT = (
    "a={bars:[448,512,[\"navicon\"],\"f0c9\",\"M0 96\"],"
    '"magnifying-glass":[512,512,[128269,"search"],"f002","M416 208"],'
    'moon:[384,512,[],"f186",["M1","M2"]]};b=[1,2,3]'
)  # fmt: skip


def left(tmp_path, names):
    script = tmp_path / "icons.js"
    script.write_text(SCRIPT)
    thin_icons(script, names)
    return script.read_text()


def test_names_are_found_in_markup():
    assert icons_in(['<i class="fa-solid fa-magnifying-glass fa-lg">', '"fas fa-bars"']) >= {"magnifying-glass", "bars"}


def test_what_is_named_stays_by_either_name(tmp_path):
    assert left(tmp_path, {"bars", "search", "moon"}) == SCRIPT
    assert left(tmp_path, {"navicon"}) == 'a={bars:[448,512,["navicon"],"f0c9","M0 96"],};b=[1,2,3]'


def test_the_rest_goes_and_nothing_else(tmp_path):
    assert left(tmp_path, set()) == "a={};b=[1,2,3]"
    assert left(tmp_path, {"moon"}) == 'a={moon:[384,512,[],"f186",["M1","M2"]]};b=[1,2,3]'
