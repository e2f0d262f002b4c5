"""`/doctor`: the findings about the repository, each namespace, and the server's machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from starlette.responses import Response

from baton_git import __version__
from baton_git.git.hooks.program_health import ProgramHealth
from baton_git.interfaces.context.data_home import data_home
from baton_git.interfaces.context.process import outside_git, own_command
from baton_git.interfaces.web.page_controller import PageRequest, PageRoute
from baton_git.verbs.doctor.doctor import ORDER, SECONDS, Diagnosis, DoctorFinding
from baton_git.verbs.doctor.examination import Examination, ExaminedMachine
from baton_git.verbs.doctor.registry import CHECKS, Check, examine

MOST_NAMESPACES = 40
SKIPPED = frozenset({"agents", "cost", "mcp", "remotes", "privacy"})
"""Checks of the agents' CLIs and of the network, which only the command `baton doctor` runs."""


class FindingGroup(NamedTuple):
    """The findings about the repository (no namespace), or about one namespace; the most urgent first."""

    namespace: str
    findings: Sequence[DoctorFinding]


def show(request: PageRequest) -> Response:
    namespaces = [str(name) for name in request.site.namespaces()]
    groups = [
        _examine_repository(request),
        *(_examine_namespace(request, name) for name in namespaces[:MOST_NAMESPACES]),
    ]
    shows_all = bool(request.query.get("all"))
    shown = [
        group._replace(findings=[f for f in group.findings if shows_all or f.severity != "ok"]) for group in groups
    ]
    return request.render(
        "doctor.html", groups=[group for group in shown if group.findings], shows_all=shows_all,
        fine=sum(finding.severity == "ok" for group in groups for finding in group.findings),
        left_out=max(0, len(namespaces) - MOST_NAMESPACES),
    )  # fmt: skip


def _examine_repository(request: PageRequest) -> FindingGroup:
    return FindingGroup("", _run_checks(request, None, [check for check in CHECKS if check.needs != "namespace"]))


def _examine_namespace(request: PageRequest, name: str) -> FindingGroup:
    return FindingGroup(name, _run_checks(request, name, [check for check in CHECKS if check.needs == "namespace"]))


def _run_checks(request: PageRequest, namespace: str | None, checks: Sequence[Check]) -> list[DoctorFinding]:
    site = request.site
    with site.work(namespace) as ws:
        examination = Examination(
            site.now(), ws.branch.store, ws.branch.prefix, ws, _look_at_machine(site.repository.work_tree), SECONDS
        )
        items = examine(examination, [check for check in checks if check.name not in SKIPPED])
        return sorted(Diagnosis.of(items).findings, key=lambda finding: ORDER.index(finding.severity))


def _look_at_machine(work_tree: Path | None) -> ExaminedMachine:
    """Return the data about this machine that the server's process can see, without the agents' CLIs."""
    command, environment = own_command(), outside_git()
    health = ProgramHealth(environment, command)
    return ExaminedMachine(
        __version__, tuple(command), environment, Path.home(), data_home() / "baton", work_tree, {}, health
    )


PAGES = {"/doctor": PageRoute(show)}
