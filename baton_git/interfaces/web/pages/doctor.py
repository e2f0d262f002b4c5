"""`/doctor`: the findings about the repository, each namespace, and the server's machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from starlette.responses import Response

from baton_git.interfaces.web.page_controller import PageRequest
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.doctor.doctor import ORDER, DoctorFinding, doctor
from baton_git.verbs.doctor.registry import CHECKS

MOST_NAMESPACES = 40
SKIPPED = frozenset({"agents", "cost", "mcp", "remotes", "privacy"})
"""Checks of the agents' CLIs and of the network, which only the command `baton doctor` runs."""
OF_NAMESPACES = [check.name for check in CHECKS if check.needs == "namespace"]
OF_REPOSITORY = [check.name for check in CHECKS if check.needs != "namespace" and check.name not in SKIPPED]


class FindingGroup(NamedTuple):
    """The findings about the repository (no namespace), or about one namespace; the most urgent first."""

    namespace: str
    findings: Sequence[DoctorFinding]


def show_doctor(request: PageRequest) -> Response:
    site, names = request.site, [str(name) for name in request.site.namespaces()]
    with site.work() as ws:
        machine = replace(ws, find_machine=site.app.find_machine)  # unlike a client of the API, who may be elsewhere
        groups = [FindingGroup("", _run_checks(request, machine, OF_REPOSITORY))]
    for name in names[:MOST_NAMESPACES]:
        with site.work(name) as ws:
            groups.append(FindingGroup(name, _run_checks(request, ws, OF_NAMESPACES)))
    shows_all = bool(request.query.get("all"))
    shown = [
        group._replace(findings=[f for f in group.findings if shows_all or f.severity != "ok"]) for group in groups
    ]
    return request.render(
        "doctor.html", groups=[group for group in shown if group.findings], shows_all=shows_all,
        fine=sum(finding.severity == "ok" for group in groups for finding in group.findings),
        left_out=max(0, len(names) - MOST_NAMESPACES),
    )  # fmt: skip


def _run_checks(request: PageRequest, ws: Workspace, checks: list[str]) -> list[DoctorFinding]:
    findings = doctor(ws, request.site.now(), checks=checks).findings
    return sorted(findings, key=lambda finding: ORDER.index(finding.severity))
