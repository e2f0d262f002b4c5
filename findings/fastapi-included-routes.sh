#!/usr/bin/env bash
# `app.routes` of FastAPI 0.165.0 does not list the routes of included routers, although they are served.
#
# Tests and tools that walk `app.routes`, for example to check that every route needs a token, see one entry without `path`
# for each included router, skip it, and pass without having looked at anything. With 0.115.0 the routes are there.
# The generated OpenAPI document lists them with both versions, but leaves out those with `include_in_schema=False`.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT; cd "$folder"
cat >routes.py <<'P'
from fastapi import APIRouter, FastAPI
from fastapi.testclient import TestClient
router = APIRouter()
@router.get("/secret", include_in_schema=False)
def secret() -> dict[str, str]:
    return {"is": "served"}
app = FastAPI(docs_url=None, redoc_url=None)
app.include_router(router)
listed = "/secret" in [getattr(route, "path", None) for route in app.routes]
documented = "/secret" in app.openapi()["paths"]
print(f"listed {listed}, documented {documented}, status {TestClient(app).get('/secret').status_code}")
P
seen=
for version in 0.115.0 0.165.0; do
  python3 -m venv "$version"; "$version/bin/pip" install -q "fastapi==$version" httpx httpx2 >/dev/null 2>&1
  line=$("$version/bin/python" routes.py 2>/dev/null); echo "fastapi $version: $line"; seen="$seen$line; "
done
echo "expected: a route that is served is listed by app.routes, with each version"
[ "$seen" = "listed True, documented False, status 200; listed False, documented False, status 200; " ]
