"""What secrets look like: forms that give themselves away, and names that announce one.

Every pattern is linear: it begins with a literal that a run of its own characters cannot precede,
and each of its parts is bounded or possessive.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_KEY = r"[A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}"
_NEW = r"(?<![\w-])"
_PLAIN = r"(?P<secret>(?![$<\[])[^\s'\"]{1,300})"
"""A value on a command line; what the shell would put in is none."""

FORMS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("private key", ("PRIVATE KEY",),
     rf"-----BEGIN {_KEY}-----(?s:.*?)(?:-----END {_KEY}-----|\Z)"),
    ("private key", ("PRIVATE KEY",), rf"\A[A-Za-z0-9+/=\s]*+-----END {_KEY}-----"),
    ("private key", ("Private-Lines:",), r"Private-Lines: \d{1,4}\s(?:[A-Za-z0-9+/=]{1,80}+\s?)*+"),
    ("private key", ("AGE-SECRET-KEY-1",), r"AGE-SECRET-KEY-1[0-9A-Z]{20,100}"),
    ("json web token", ("eyJ",), _NEW + r"eyJ[\w-]{8,}+(?:\.[\w-]*+){2,4}"),
    ("password", ("://",),
     r"://[^\s/:@'\"<>\\]{0,200}:(?P<secret>(?![$<{%\[])[^\s/'\"<>\\]{1,500})@(?=[^\s@])"),
    ("token", ("://",), r"://(?P<secret>[\w-]{20,500})(?::x-oauth-basic)?@(?=\S)"),
    ("credentials", ("authorization",),
     (r"(?i)authorization\\?[\"']?\s{0,4}(?:[:=]|=>|,)\s{0,4}\\?[\"']?"
      r"(?:(?:bearer|basic|token|digest|negotiate|api-?key|key|ntlm|hmac|oauth|bot)\s{1,4}"
      r"|(?=[\w+/.~-]{0,400}[0-9]))(?P<secret>(?![$<{%\[])[^\s\"'\\,;]{6,4000})")),
    ("credentials", ("AWS4-HMAC",),
     r"AWS4-HMAC-SHA256[^\n]{0,400}?Signature=(?P<secret>[0-9a-f]{64})"),
    ("credentials", ("bearer ",),
     r"(?i)(?<![\w-])bearer\s{1,4}(?P<secret>(?=\S{0,200}[0-9])[\w.~+/=-]{12,4000})"),
    ("cookie", ("cookie",),
     (r"(?i)(?<![\w-])(?:set-)?cookie\\?[\"']?[ \t]{0,4}:[ \t]{0,4}[\"']?"
      r"(?P<secret>[^\s=;\"']{1,100}=[^\r\n\"']{6,4000})")),
    ("aws key", ("AKIA", "ASIA", "ABIA", "ACCA", "A3T"),
     r"(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("github token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
     _NEW + r"gh[pousr]_[A-Za-z0-9_]{20,255}"),
    ("github token", ("github_pat_",), _NEW + r"github_pat_[A-Za-z0-9_]{20,255}"),
    ("gitlab token",
     ("glpat-", "gldt-", "glptt-", "glrt-", "glcbt-", "glft-", "glsoat-", "glimt-", "glagent-",
      "gloas-"),
     _NEW + r"gl(?:pat|dt|ptt|rt|cbt|ft|soat|imt|agent|oas)-[\w.-]{16,300}"),
    ("slack token", ("xox", "xapp-"), _NEW + r"(?:xox[abcdeoprs]|xapp)-[A-Za-z0-9.-]{10,300}"),
    ("slack webhook", ("hooks.slack.com",),
     r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[\w+/-]{16,200})"),
    ("discord webhook", ("/api/webhooks/",), r"/api/webhooks/(?P<secret>\d{10,25}/[\w-]{40,120})"),
    ("discord token", ("discord", "bot"),
     r"(?<![\w.-])[MNO][\w-]{23,28}\.[\w-]{6}\.[\w-]{27,45}(?![\w-])"),
    ("telegram token", (":AA",), r"(?<![A-Za-z0-9])(?:bot)?\d{8,12}:AA[\w-]{32,35}(?![\w-])"),
    ("api key", ("sk-",), _NEW + r"sk-(?=[\w-]{0,200}[0-9A-Z])[\w-]{20,300}"),
    ("stripe key", ("_live_", "_test_"),
     _NEW + r"(?:sk|rk|pk|sess)_(?:live|test)_[A-Za-z0-9]{10,250}"),
    ("webhook secret", ("whsec_",), _NEW + r"whsec_[A-Za-z0-9+/=]{16,100}"),
    ("google key", ("AIza",), _NEW + r"AIza[\w-]{35}(?![\w-])"),
    ("google token", ("ya29.",), _NEW + r"ya29\.[\w.-]{20,2000}"),
    ("google token", ("1//0",), r"(?<![\w/:])1//0[\w-]{40,200}"),
    ("google secret", ("GOCSPX-",), _NEW + r"GOCSPX-[\w-]{20,40}"),
    ("npm token", ("npm_",), _NEW + r"npm_[A-Za-z0-9]{36,80}"),
    ("pypi token", ("pypi-Ag",), _NEW + r"pypi-Ag[\w-]{40,1000}"),
    ("hugging face token", ("hf_",), _NEW + r"hf_[A-Za-z0-9]{30,60}"),
    ("sendgrid key", ("SG.",), r"(?<![\w.-])SG\.[\w-]{16,40}\.[\w-]{16,80}"),
    ("mailgun key", ("key-",), _NEW + r"key-[0-9a-f]{32}(?![0-9a-f])"),
    ("mailchimp key", ("-us",), r"(?<![0-9a-z])[0-9a-z]{32}-us[0-9]{1,2}(?![0-9a-z])"),
    ("twilio key", ("SK", "AC"), r"(?<![A-Za-z0-9])(?:SK|AC)[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("square token", ("sq0", "EAAA"), _NEW + r"(?:sq0[a-z]{3}-[\w-]{22,60}|EAAA[\w-]{56,70})"),
    ("shopify token", ("shpat_", "shpca_", "shppa_", "shpss_"),
     _NEW + r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}"),
    ("digitalocean token", ("doo_v1_", "dop_v1_", "dor_v1_"), _NEW + r"do[opr]_v1_[a-f0-9]{40,80}"),
    ("databricks token", ("dapi",), _NEW + r"dapi[a-f0-9]{32}(?:-\d)?"),
    ("artifactory token", ("AKC", "AP"),
     r"(?<![\w-])(?:AKC[A-Za-z0-9]{10,100}|AP[0-9A-F](?=[A-Za-z0-9]{0,80}[0-9])[A-Za-z0-9]{16,100})(?![\w-])"),
    ("azure key", ("accountkey=", "sharedaccesskey="),
     r"(?i)(?:account|sharedaccess)key=(?P<secret>[A-Za-z0-9+/=]{20,120})"),
    ("signed address", ("sig=", "signature=", "x-amz-", "code="),
     (r"(?i)[?&](?:sig|signature|x-(?:amz|goog)-(?:signature|credential|security-token)|code)="
      r"(?P<secret>[^&\s\"'<>\\\[]{16,3000})")),
    ("vault token", ("hvs.", "hvb.", "hvr."), r"(?<![\w.-])hv[sbr]\.[\w-]{20,300}"),
    ("terraform token", (".atlasv1.",), r"(?<![\w.-])[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,100}"),
    ("softlayer key", ("api.softlayer.com",),
     r"api\.softlayer\.com/soap/v3(?:\.1)?/(?P<secret>[a-z0-9]{64})"),
    ("api token",
     ("sbp_", "ntn_", "lin_api_", "figd_", "PMAK-", "NRAK-", "glc_", "glsa_", "pplx-", "gsk_",
      "xai-", "sntrys_", "sntryu_", "rubygems_", "dckr_pat_", "pul-", "ATATT3", "tvly-",
      "pscale_", "nvapi-", "phc_", "phx_", "dp.pt.", "dp.st.", "secret_"),
     (_NEW + r"(?:sbp_|ntn_|lin_api_|figd_|PMAK-|NRAK-|glc_|glsa_|pplx-|gsk_|xai-|sntrys_|sntryu_|"
      r"rubygems_|dckr_pat_|pul-|ATATT3|tvly-|pscale_[a-z]{2,5}_|nvapi-|phc_|phx_|dp\.[ps]t\.|secret_)"
      r"(?=[\w.=-]{0,100}[0-9])(?=[\w.=-]{0,100}[A-Za-z])[\w.=-]{20,400}")),
    ("password", ("login ",), _NEW + r"login\s{1,8}\S{1,100}\s{1,8}password\s{1,8}" + _PLAIN),
    ("password", ("curl",),
     (r"(?<=\s)(?:-u|-U|--user|--proxy-user)[ =]{0,2}[\"']?"
      r"(?=[^\s:'\"]{0,100}[A-Za-z])[^\s:'\"]{1,100}:" + _PLAIN)),
    ("password", ("mysql", "mariadb"),
     _NEW + r"(?:mysql|mariadb)\w{0,10}(?![\w.])[^\n|;]{0,300}?\s-p[\"']?(?!=)" + _PLAIN),
    ("password", ("sshpass",), _NEW + r"sshpass\s{1,4}-p\s{0,4}[\"']?" + _PLAIN),
    ("password", ("redis-cli",), _NEW + r"redis-cli\b[^\n|;]{0,200}?\s-a\s{1,4}[\"']?" + _PLAIN),
    ("password", ("docker login", "podman login", "az login", "oc login"),
     _NEW + r"(?:docker|podman|az|oc) login\b[^\n|;]{0,200}?\s-p\s{1,4}[\"']?" + _PLAIN),
    ("password", ("pass:",), _NEW + r"-?-(?:passin|passout|pass|k)\s{1,4}[\"']?pass:" + _PLAIN),
    ("password", ("identified by", "identified with"),
     r"(?i)\bidentified\s{1,4}(?:with\s{1,4}\S{1,60}\s{1,4})?by\s{1,4}[\"'](?P<secret>[^\"'\n\[]{1,200})"),
    ("password", ("with password", "encrypted password"),
     r"(?i)\b(?:with|encrypted)\s{1,4}password\s{1,4}[\"'](?P<secret>[^\"'\n\[]{1,200})"),
)  # fmt: skip
"""(kind, hints, pattern), in the order in which they are tried. A pattern is tried where one of
its hints stands in the text (a hint without capitals: in any case); the group ``secret``, else the
whole match, is taken out."""

NAMES: Mapping[str, str] = {
    "password": r"passw(?:or)?d|passphrase|passcode|passwort|(?<![a-z])pass(?![a-z])|pwd"
    r"|비밀번호|암호|パスワード|密码",
    "secret": r"secret|credential",
    "token": r"token|(?<![a-z])jwt(?![a-z])",
    "key": r"(?:api|access|private|auth|account|encryption|signing|master|license|service|storage)"
    r"[_-]?key|(?<![a-z])auth(?![a-z])|(?<![a-z])(?:cl|sl|ibm)[_-]?(?:pass|key)",
}
"""Kind → names of what holds a secret, anywhere in a longer name."""

HARMLESS_ENDS = frozenset(
    {
        *("age", "algorithm", "attempts", "bytes", "char", "chars", "class", "count", "counter"),
        *("dir", "endpoint", "env", "error", "errors", "exists", "expired", "expires", "expiry"),
        *("field", "file", "filename", "folder", "form", "format", "hasher", "hashers", "header"),
        *("help", "hint", "id", "ids", "in", "index", "input", "invalid", "kind", "label", "len"),
        *("length", "level", "limit", "list", "location", "manager", "mgr", "fds", "max", "min"),
        *("name", "names", "number", "param", "path", "placeholder", "policy"),
        *("message", "position", "prompt"),
        *("ref", "regex", "required", "reset", "rules", "set", "size", "source", "status", "stdin"),
        *("strength", "text", "timeout", "title", "ttl", "type", "types", "uri", "url", "usage"),
        *("used", "valid", "validator", "validators", "var", "variable", "version", "at", "py"),
        *("budget", "estimate", "window", "stream", "per", "left", "remaining", "total"),
    }
)
"""Last word of a name that speaks about a secret and holds none: ``token_count``."""

PLACEHOLDERS = frozenset(
    {
        *("none", "null", "nil", "undefined", "true", "false", "yes", "no", "on", "off", "n/a"),
        *("str", "string", "bytes", "int", "number", "bool", "boolean", "any", "object", "text"),
        *("optional", "varchar", "char", "unknown", "void", "self", "redacted", "hidden", "masked"),
        *("required", "missing", "invalid", "expired", "empty", "incorrect", "wrong", "failed"),
        *("ok", "password", "secret", "token", "key", "value", "example", "placeholder", "..."),
        *("secretstr", "bytearray", "nullable", "unset", "not", "is", "was", "must", "for", "and"),
    }
)
"""Values that are no secret, in lower case."""

SENTENCE_WORDS = frozenset(
    {
        *("a", "an", "and", "are", "at", "be", "by", "can", "cannot", "could", "did", "do", "does"),
        *("failed", "field", "for", "from", "has", "have", "if", "in", "incorrect", "invalid"),
        *(
            "is",
            "it",
            "least",
            "missing",
            "must",
            "new",
            "no",
            "not",
            "of",
            "or",
            "please",
            "required",
        ),
        *("should", "the", "this", "to", "too", "was", "will", "with", "you", "your", "enter"),
    }
)
"""A quoted value of several words is a message if one of these is among them."""

IDENTITY_NAMES = frozenset(
    {
        *("id", "uid", "uuid", "guid", "sha", "sha1", "sha256", "sha384", "sha512", "md5", "hash"),
        *("digest", "checksum", "sum", "integrity", "fingerprint", "etag", "version", "revision"),
        *("commit", "rev", "ref", "tree", "h1", "path", "file", "name", "url", "uri", "class"),
        *("module", "test", "nodeid", "requestid", "traceid", "spanid", "cursor", "image"),
    }
)
"""Last word of a name whose value may look random and is no secret."""
