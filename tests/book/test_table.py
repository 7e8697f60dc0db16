from bindlib.book.table import Table, with_interval

ROWS = [{"name": "a <b>", "value": 0.12345, "none": None}, {"name": "c", "value": 2, "none": None}]


def test_html_escapes_and_labels_rows_and_columns():
    html = Table(ROWS)._repr_html_()
    assert "a &lt;b&gt;" in html and "<b>" not in html
    assert html.count('scope="col"') == 3 and html.count('scope="row"') == 2
    assert "<td>0.123</td>" in html and "<td>2</td>" in html and "<td></td>" in html


def test_columns_select_and_order():
    assert str(Table(ROWS, columns=("value", "name"))).splitlines()[0].split() == ["value", "name"]


def test_what_could_steer_a_terminal_is_spelled_out():
    table = Table([{"name": "a\x1b[2J\u202e"}])
    assert str(table).endswith(r"a\x1b[2J\u202e") and r"a\x1b[2J\u202e" in table._repr_html_()


def test_values_with_intervals():
    assert with_interval(0.1875, [0.18, 0.2]) == "0.188\u00a0[0.180,\u00a00.200]"
    assert with_interval(0.5, None, digits=1) == "0.5"
    assert with_interval(None, None) == ""


def test_a_cell_shows_an_interval_without_escapes():
    table = Table([{"usage": with_interval(0.1875, [0.18, 0.2])}])
    assert str(table).endswith("0.188\u00a0[0.180,\u00a00.200]")
    assert "0.188\u00a0[0.180,\u00a00.200]</th>" in table._repr_html_()


def test_an_interval_may_stand_below_its_value():
    html = Table([{"name": "a", "usage": with_interval(0.1875, [0.18, 0.2])}])._repr_html_()
    assert "<td>0.188 [0.180,\u00a00.200]</td>" in html


def test_what_rounds_to_zero_has_no_sign():
    assert str(Table([{"value": -0.0001}])).endswith("0.000") and "-" not in str(Table([{"value": -0.0001}]))
    assert with_interval(-1e-9, [-1e-9, 0.1]) == "0.000\u00a0[0.000,\u00a00.100]"
