from bindlib.book.table import Table

ROWS = [{"name": "a <b>", "value": 0.12345, "none": None}, {"name": "c", "value": 2, "none": None}]


def test_html_escapes_and_labels_rows_and_columns():
    html = Table(ROWS)._repr_html_()
    assert "a &lt;b&gt;" in html and "<b>" not in html
    assert html.count('scope="col"') == 3 and html.count('scope="row"') == 2
    assert "<td>0.123</td>" in html and "<td>2</td>" in html and "<td></td>" in html


def test_columns_select_and_order():
    assert str(Table(ROWS, columns=("value", "name"))).splitlines()[0].split() == ["value", "name"]
