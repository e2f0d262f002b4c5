"""The responses of a server while its repository is changed, moved or removed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from baton_git.core.errors import NotARepository
from baton_git.interfaces.context.settings import CommonOptions
from baton_git.interfaces.http.site import Site


@pytest.fixture
def site(top, baton) -> Iterator[Site]:
    baton("init")
    found = Site(CommonOptions(repo=str(top)))
    yield found
    found.close()


def test_a_changed_setting_applies_immediately(site, top, git):
    with site.work() as ws:
        assert dict(ws.remote_settings.policies) == {}
    git(top, "config", "remote.origin.batonPolicy", "review")
    with site.work() as ws:
        assert dict(ws.remote_settings.policies) == {"origin": "review"}


def test_a_missing_repository_is_an_error_and_not_recreated(site, top):
    assert site.tip() is not None
    (top / ".git").rename(top / "away")
    with pytest.raises(NotARepository, match=r"is not a repository any more"):
        site.tip()
    with pytest.raises(NotARepository), site.work():
        pass
    assert not (top / ".git").exists()
    (top / "away").rename(top / ".git")
    assert site.tip() is not None


def test_a_secret_cannot_be_the_name_of_a_namespace_over_http(serve, top):
    secret = "ghp_" + "a1B2c3D4e5" * 4
    served = serve()
    answers = [
        served.post("/v1/boot", {}, code=422, params={"namespace": secret}),
        served.post("/v1/baton/write", {"namespace": secret, "session_id": "s", "baton": {"context": "x"}}, code=None),
        served.post("/checkpoint/zero", {"summary": "x"}, code=422, params={"namespace": secret}),
    ]
    for answer in answers:
        assert answer.status_code == 422
        assert "the name of the namespace holds a secret" in answer.text
        assert secret not in answer.text
