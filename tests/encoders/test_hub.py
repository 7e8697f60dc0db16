import pytest
from huggingface_hub import constants

from bindlib.encoders.hub import no_retries_offline


@pytest.mark.parametrize("reachable", [True, False])
def test_the_hub_s_client_is_told_to_stay_offline_while_the_hub_is_out_of_reach(reachable, monkeypatch):
    class Session:
        def head(self, url, timeout):
            assert url == constants.ENDPOINT and timeout <= 5
            if not reachable:
                raise OSError

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.utils.get_session", Session)
    with pytest.raises(RuntimeError), no_retries_offline():
        assert constants.HF_HUB_OFFLINE is not reachable
        raise RuntimeError
    assert constants.HF_HUB_OFFLINE is False
