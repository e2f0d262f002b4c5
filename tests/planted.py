"""Hypothesis strategies for secrets of every detected kind: the secret, and the text that contains it."""

import base64
import json
import string

from hypothesis import strategies as st

ALNUM = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"
URLSAFE = ALNUM + "_-"
SYMBOLS = ALNUM + "!@#%^&*+~?_-/"


def some(alphabet, size, most=None):
    return st.text(alphabet, min_size=size, max_size=most or size)


def mixed(alphabet, size, most=None):
    """Draw a text with a letter and a digit, like most random tokens."""
    return some(alphabet, size - 2, (most or size) - 2).map(lambda text: f"a{text}7")


def shaped(*parts):
    """Draw a secret of the given shape, and a text that contains it."""
    return st.tuples(*(st.just(part) if isinstance(part, str) else part for part in parts)).map("".join).map(alone)


def alone(secret):
    """Return a secret, and a text that consists of it only."""
    return secret, secret


def placed(template, secrets):
    """Draw a secret, and the template with the secret in place of its asterisk."""
    return secrets.map(lambda secret: (secret, template.replace("*", secret, 1)))


def jwt(payload):
    def part(text):
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    header, body = json.dumps({"alg": "HS256"}), json.dumps({"sub": payload})
    return ".".join([part(header), part(body), part(payload * 3 + "signature")])


def pem(kind, newline):
    """Draw a part of a private key, and the PEM block with the whole key."""

    def block(body):
        lines = [body[at : at + 64] for at in range(0, len(body), 64)]
        text = newline.join([f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----"])
        return body[70:130], text

    return some(ALNUM + "+/", 200, 400).map(block)


SECRETS = {
    "artifactory": shaped("AKC", some(ALNUM, 10, 60)),
    "artifactory password": shaped("AP", some("0123456789ABCDEF", 1), mixed(ALNUM, 8, 30)),
    "aws": shaped(st.sampled_from(["AKIA", "ASIA", "ABIA", "ACCA", "A3TX"]), some(UPPER, 16)),
    "aws quoted": placed("aws_secret_key = '*'", mixed(ALNUM + "/+", 40)),
    "aws unquoted": placed("aws_secret_access_key = *", mixed(UPPER + "/+", 40)),
    "azure": placed("AccountKey=*;EndpointSuffix=x", some(ALNUM + "+/", 86).map(lambda key: key + "==")),
    "basic auth": placed("postgres://user:*@db.example.com/x", mixed(ALNUM, 4, 30)),
    "basic auth with signs": placed("https://user:*@example.com", mixed(ALNUM + "!$&'+,;=:", 4, 30)),
    "redis": placed("redis://:*@cache:6379/0", mixed(ALNUM, 4, 30)),
    "cloudant": placed("cloudant_password = *", some(HEX, 64)),
    "cloudant key": placed("cl_apikey: *", some(string.ascii_lowercase, 24)),
    "cloudant url": placed("https://acc:*@acc.cloudant.com", some(HEX, 64)),
    "discord": shaped("M", some(ALNUM, 23), ".", some(URLSAFE, 6), ".", some(URLSAFE, 27)),
    "discord webhook": placed("https://discord.com/api/webhooks/123456/*", some(URLSAFE, 68)),
    "github": shaped(st.sampled_from(["ghp_", "gho_", "ghu_", "ghs_", "ghr_"]), some(ALNUM, 36, 80)),
    "github fine-grained": shaped("github_pat_", some(ALNUM, 22), "_", some(ALNUM, 59)),
    "gitlab": shaped(st.sampled_from(["glpat-", "gldt-", "glrt-", "glsoat-", "glcbt-1a_"]), some(URLSAFE, 20, 90)),
    "gitlab routable": shaped("glpat-", some(URLSAFE, 27), ".", some(LOWER, 2), ".", some(LOWER, 9)),
    "gitlab runner": shaped("GR1348941", some(ALNUM, 20)),
    "google": shaped("AIza", some(ALNUM, 35)),
    "ibm iam": placed("ibm_cloud_iam_api_key: *", some(URLSAFE, 44)),
    "ibm cos": placed('cos_secret_access_key = "*"', some(HEX, 48)),
    "jwt": st.text(ALNUM, min_size=4).map(jwt).map(alone),
    "mailchimp": shaped(some(LOWER, 32), "-us", some(string.digits, 1, 2)),
    "npm": placed("//registry.npmjs.org/:_authToken=*", some(ALNUM, 36).map(lambda text: "npm_" + text)),
    "npm alone": shaped("npm_", some(ALNUM, 36)),
    "openai": shaped("sk-", some(ALNUM, 20), "T3BlbkFJ", some(ALNUM, 20)),
    "openai project": shaped("sk-proj-", mixed(URLSAFE, 60, 150)),
    "anthropic": shaped("sk-ant-api03-", mixed(URLSAFE, 93), "AA"),
    "pem": pem("RSA PRIVATE KEY", "\n"),
    "pem in json": pem("PRIVATE KEY", "\\n"),
    "openssh": pem("OPENSSH PRIVATE KEY", "\r\n"),
    "pgp": pem("PGP PRIVATE KEY BLOCK", "\n"),
    "pem without end": pem("EC PRIVATE KEY", "\n").map(lambda pair: (pair[0], pair[1].partition("-----END")[0])),
    "pem without beginning": pem("PRIVATE KEY", "\n").map(lambda pair: (pair[0], pair[1][40:])),
    "pypi": shaped("pypi-AgEIcHlwaS5vcmc", some(URLSAFE, 70, 120)),
    "sendgrid": shaped("SG.", some(URLSAFE, 22), ".", some(URLSAFE, 43)),
    "slack": shaped("xoxb-", some(string.digits, 12), "-", some(string.digits, 12), "-", some(ALNUM, 24)),
    "slack rotated": shaped("xoxe.xoxp-1-", some(ALNUM, 40)),
    "slack app": shaped("xapp-1-", some(UPPER, 11), "-", some(string.digits, 13), "-", some(HEX, 64)),
    "slack webhook": placed(
        "https://hooks.slack.com/services/*", some(ALNUM, 24).map(lambda t: f"T{t[:8]}/B{t[8:16]}/{t}")
    ),
    "softlayer": placed("softlayer_api_key = *", some(LOWER, 64)),
    "square": shaped("sq0csp-", some(URLSAFE, 43)),
    "stripe": shaped(st.sampled_from(["sk_live_", "rk_live_", "sk_test_"]), some(ALNUM, 24, 99)),
    "telegram": shaped(some(string.digits, 8, 10), ":", some(URLSAFE, 35)),
    "twilio": shaped(st.sampled_from(["AC", "SK"]), some(HEX, 32)),
    "bearer": placed("Authorization: Bearer *", some(URLSAFE, 8, 80)),
    "basic header": placed("-H 'authorization: Basic *'", mixed(ALNUM, 8, 80)),
    "bearer alone": placed("sent bearer * to it", mixed(URLSAFE, 20, 60)),
    "signed url": placed("https://x.blob.core.windows.net/c/b?sv=1&sig=*&se=2", some(ALNUM + "%", 30, 60)),
    "curl": placed("curl -s -u admin:* https://example.com", mixed(ALNUM, 4, 20)),
    "quoted password": placed('password = "*"', mixed(SYMBOLS, 6, 30)),
    "quoted key": placed("'api_key': '*',", mixed(SYMBOLS, 6, 30)),
    "escaped quotes": placed(r"{\"db_password\": \"*\"}", mixed(SYMBOLS, 6, 30)),
    "cut off quote": placed('client_secret: "*', mixed(ALNUM, 6, 30)),
    "unquoted password": placed("the password: * is old", mixed(ALNUM + "!@#%^&*", 6, 30)),
    "environment": placed("export DB_PASSWORD=*", some(string.ascii_lowercase, 14, 20)),
    "yaml": placed("db:\n  password: *\n  host: x", some(string.ascii_lowercase, 14, 20)),
    "token": placed("access_token=*", mixed(ALNUM, 16, 60)),
    "token in yaml": placed("token: *", mixed(ALNUM, 16, 60)),
    "option": placed("deploy --password * --force", mixed(ALNUM, 6, 20)),
    "compared": placed('if "*" == db_password', mixed(ALNUM, 6, 20)),
}

PROSE = st.lists(
    st.sampled_from(
        ["the", "deploy failed;", "see", "commit", "3f2a9c1", "it's", "“quoted”", "key", "token", "a/b.py", "名前"]
    ),
    max_size=6,
).map(" ".join)
