"""Models of the Hugging Face hub: their files, downloaded once or found in the local cache."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bindlib.encoders.config_beside import brief
from bindlib.encoders.weights import file_hash
from bindlib.errors import BindlibError

SHA256_DIGITS = 64


def snapshot(name: str, model: str, patterns: tuple[str, ...]) -> Path:
    """The folder of a commit of the hub's ``model``, called as the commit, with the files that match ``patterns``.

    Raises ``BindlibError`` naming the encoder ``name`` if it is neither in the local cache nor to be downloaded, or
    if a file is not the one that the hub has.
    """
    from huggingface_hub import snapshot_download

    with no_retries_offline():
        try:
            folder = Path(snapshot_download(model, allow_patterns=list(patterns)))
        except Exception as error:
            raise BindlibError(
                f"could not download {name} (tried the local cache, then {model} on the hub: {brief(str(error))}): "
                "connect to the network, or give a local folder"
            ) from error
    for path in filter(Path.is_file, folder.rglob("*")):
        known = path.resolve().name  # the cache names a large file by its SHA-256
        if len(known) == SHA256_DIGITS and known != file_hash(path):
            raise BindlibError(f"{path.resolve()} is damaged: remove it to download it again")
    return folder


@contextmanager
def no_retries_offline() -> Iterator[None]:
    """Let the hub client answer from its cache at once when the hub is out of reach; alone it retries for a minute."""
    from huggingface_hub import constants
    from huggingface_hub.utils import get_session

    before = constants.HF_HUB_OFFLINE
    try:
        get_session().head(constants.ENDPOINT, timeout=5)
    except Exception:
        constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before
