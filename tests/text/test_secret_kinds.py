"""A table of places in which secrets stand, and of ordinary lines that look a little like one.

In a frame ``@@`` stands for the whole secret, ``@1`` and ``@2`` for its halves. Every secret is made
up when the test runs: nothing here looks like one.
"""

from __future__ import annotations

import base64
import random
import re
import string
import time
import urllib.parse
from collections.abc import Callable

import pytest

from lessons_kb.text.redact import redact

DICE = random.Random(20260607)
ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
WORDS = (
    "abandon ability absent absorb abstract absurd access acid across action actor actual "
    "zebra zone galaxy garlic lunar lottery velvet vendor kiwi ladder lamp oxygen oyster ozone"
).split()


def made(size: int, alphabet: str = ALNUM) -> str:
    """Return random characters, one of each class that the alphabet has among the first seven."""
    while True:
        text = "".join(DICE.choices(alphabet, k=size))
        kinds = (str.isdigit, str.islower, str.isupper)
        if all(any(map(kind, text[:7])) or not any(map(kind, alphabet)) for kind in kinds):
            return text


def tok() -> str:
    return made(40)


def short() -> str:
    return made(10)


def hexed() -> str:
    return made(32, HEX)


def b64(size: int = 300) -> str:
    return base64.b64encode(DICE.randbytes(size)).decode()


def wrapped(text: str, width: int, joint: str = "\n") -> str:
    return joint.join(text[i : i + width] for i in range(0, len(text), width))


def pem_base64() -> str:
    kind = "RSA PRIVATE" + " KEY"
    return base64.b64encode(f"-----BEGIN {kind}-----\n{b64()}".encode()).decode()


def odd_password() -> str:
    return f"{made(6)}@{made(5)}/{made(4)}"


def quoted_password() -> str:
    return urllib.parse.quote(f"{made(6)}@/:{made(6)}", safe="")


def symbols() -> str:
    return f"{made(4)}!{made(3)}#${made(3)}"


def mnemonic(count: int = 12) -> str:
    return " ".join(DICE.sample(WORDS, count))


def jwt() -> str:
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
    body = base64.urlsafe_b64encode(b'{"sub":"%d","name":"B"}' % DICE.randrange(10**9)).decode()
    return f"{head}.{body.rstrip('=')}.{made(43)}"


def bcrypt() -> str:
    return f"$2y$10${made(53)}"


def sha512_crypt() -> str:
    return f"$6${made(12)}${made(86)}"


Kind = tuple[str, Callable[[], str]]
SECRETS: dict[str, Kind] = {
    # long values
    "kubeconfig client key": ("    client-key-data: @@\n", lambda: b64(1200)),
    "ssh key in one line": ("SSH_KEY=@@", lambda: b64(900)),
    "long base64 in json": ('{"deploy_key": "@@"}', lambda: b64(2000)),
    "long base64 exported": ("export SIGNING_KEY='@@'", lambda: b64(600)),
    "base64 of a pem": ("tls.key: @@", pem_base64),
    "long base64 without a telling name": ("blob=@@", lambda: b64(700)),
    "docker config auth": ('{"auths": {"r.io": {"auth": "@@"}}}', lambda: b64(40)),
    "long token in a url": ("https://h.io/cb?access_token=@@&state=1", lambda: made(900)),
    # the value on another line
    "yaml folded": ("password: >-\n  @@\nuser: bob\n", symbols),
    "yaml folded lower case word": ("password: >\n  letmein-@@\nuser: bob\n", short),
    "yaml literal": ("  api_token: |\n    @@\n  user: bob\n", tok),
    "yaml folded over two lines": ("token: >-\n  @1\n  @2\nuser: bob\n", tok),
    "yaml literal in quotes": ('secret: |-\n  "@@"\n', tok),
    "yaml next line": ("db_password:\n  @@\nhost: x\n", short),
    "yaml next line quoted": ("db_password:\n  '@@'\n", symbols),
    "json next line": ('{\n  "password":\n    "@@",\n  "user": "bob"\n}', symbols),
    "json token next line": ('{"access_token":\n"@@"}', tok),
    "shell continuation": ("mytool --password \\\n  @@ \\\n  --user bob", short),
    "shell continuation of a token": ("mytool --token \\\n    @@", tok),
    "shell continuation within the value": ("export API_TOKEN=@1\\\n@2", tok),
    "powershell continuation": ("Connect-Db -Password `\n  '@@'", short),
    "python assignment with a continuation": ('password = \\\n    "@@"', symbols),
    "python in brackets": ('password = (\n    "@@"\n)', symbols),
    "python implicit concatenation": ('token = (\n    "@1"\n    "@2"\n)', tok),
    "python concatenation": ('secret = "@1" + "@2"', tok),
    "javascript concatenation": ("const apiKey = '@1' +\n  '@2';", tok),
    "javascript concatenation, sign first": ("const apiKey = '@1'\n  + '@2';", tok),
    "php concatenation": ("$password = '@1' . '@2';", tok),
    "vb concatenation": ('password = "@1" & _\n  "@2"', tok),
    "lua concatenation": ('token = "@1" .. "@2"', tok),
    "shell adjacent quotes": ("PASSWORD='@1''@2' run", tok),
    "array of strings": ('["--password",\n "@@"]', short),
    "javascript assignment on the next line": ("const clientSecret =\n  '@@';", tok),
    "triple quotes": ('password = """@@"""', symbols),
    "triple quotes on lines": ('private_token = """\n@@\n"""', tok),
    "toml multi-line": ("password = '''\n@@'''", symbols),
    "heredoc": ("cat > .token <<EOF\ntoken=@@\nEOF", tok),
    "properties continuation": ("db.password=\\\n  @@", short),
    # xml, html, plist
    "xml add key value": ('<add key="DbPassword" value="@@"/>', symbols),
    "xml property": ('<property name="hibernate.password" value="@@"/>', short),
    "xml property in lines": ('<property\n  name="password"\n  value="@@"/>', short),
    "xml property element": ('<property name="db.password">@@</property>', short),
    "xml property nested": ('<property name="password"><value>@@</value></property>', short),
    "xml attribute": ('<datasource user="bob" password="@@"/>', symbols),
    "xml attribute single quotes": ("<datasource user='bob' password='@@'/>", symbols),
    "xml element with attributes": ('<password encrypted="no">@@</password>', short),
    "xml cdata": ("<password><![CDATA[@@]]></password>", symbols),
    "android string": ('<string name="api_key">@@</string>', tok),
    "plist": ("<key>apiToken</key>\n<string>@@</string>", tok),
    "html input": ('<input type="password" name="pw" value="@@">', short),
    "html hidden field": ('<input type="hidden" name="csrf_token" value="@@">', tok),
    "maven server": ("<server><id>x</id><password>@@</password></server>", short),
    "web.config connection string": (
        '<add connectionString="Server=x;User ID=sa;Password=@@;Database=y" />',
        short,
    ),
    # tables
    "markdown row": ("| password | @@ |", short),
    "markdown row with ticks": ("| API token | `@@` |", tok),
    "markdown row in bold": ("| **Password** | @@ |", short),
    "markdown column": ("| user | password |\n|---|---|\n| bob | @@ |", short),
    "psql column": (" user | api_token \n------+-----------\n bob  | @@\n(1 row)", tok),
    "mysql column": (
        "+------+----------+\n| user | password |\n+------+----------+\n| bob  | @@ |\n",
        short,
    ),
    "box column": ("│ user │ password │\n├──────┼──────────┤\n│ bob │ @@ │", short),
    "csv column": ("name,password,mail\nbob,@@,bob@example.org\n", short),
    "csv second row": ("name,password,mail\nann,x1,a@b.c\nbob,@@,bob@example.org\n", short),
    "tsv column": ("name\tsecret\nbob\t@@\n", tok),
    "aligned columns": ("Password        @@", short),
    "csv of browser": ("name,url,username,password\nx,https://x.io,bob,@@\n", short),
    "aws credentials csv": ("Access key ID,Secret access key\nX,@@\n", lambda: made(40)),
    # name and value apart
    "terraform default": (
        'variable "db_password" {\n  type    = string\n  default = "@@"\n}',
        symbols,
    ),
    "terraform default, described": (
        'variable "api_token" {\n  description = "Token"\n  default     = "@@"\n}',
        tok,
    ),
    "kubernetes env": ("- name: DB_PASSWORD\n  value: @@\n", short),
    "kubernetes env quoted": ('- name: DB_PASSWORD\n  value: "@@"\n', symbols),
    "ecs env": ('{"name": "DB_PASSWORD", "value": "@@"}', symbols),
    "ecs env in lines": ('{\n  "name": "API_TOKEN",\n  "value": "@@"\n}', tok),
    "aws parameter": ("--parameters ParameterKey=DbPassword,ParameterValue=@@", short),
    "docker env": ("docker run -e POSTGRES_PASSWORD=@@ postgres", short),
    "docker build argument": ("docker build --build-arg NPM_TOKEN=@@ .", tok),
    "docker compose list": ("  environment:\n    - DB_PASSWORD=@@\n", short),
    "dockerfile env": ("ENV DB_PASSWORD @@", short),
    "helm set": ("helm upgrade x --set db.password=@@,replicas=2", short),
    "kubectl literal": ("kubectl create secret generic x --from-literal=pin=@@", short),
    "github actions": ("      env:\n        TOKEN: '@@'", tok),
    "ansible": ("ansible_become_pass: @@", short),
    "ini": ("[db]\npasswd = @@\n", short),
    "dotted property": ("spring.datasource.password=@@", short),
    "go struct": ('cfg := Config{Password: "@@", User: "bob"}', symbols),
    "go assignment": ('password := "@@"', symbols),
    "rust": ('let password: &str = "@@";', symbols),
    "java": ('private static final String PASSWORD = "@@";', symbols),
    "c define": ('#define WIFI_PASSWORD "@@"', symbols),
    "swift": ('let apiKey: String = "@@"', tok),
    "ruby": (":password => '@@'", symbols),
    "setter": ('config.setPassword("@@");', symbols),
    "environ": ('os.environ["DB_PASSWORD"] = "@@"', symbols),
    "default of environ": ('os.getenv("DB_PASSWORD", "@@")', short),
    "powershell secure string": ('ConvertTo-SecureString "@@" -AsPlainText -Force', symbols),
    "windows set": ("setx DB_PASSWORD @@", short),
    "npmrc": ("//registry.npmjs.org/:_authToken=@@", tok),
    "netrc": ("machine h.io\n  login bob\n  password @@\n", short),
    "wifi": ('  psk="@@"', short),
    "prose": ("The admin password is @@ for now", short),
    "korean prose": ("비밀번호는 @@ 입니다", short),
    # addresses
    "database url": ("postgres://bob:@@@db.io:5432/shop", short),
    "database url, at and slash": ("postgres://bob:@@@db.io:5432/shop", odd_password),
    "database url, encoded password": ("mysql://bob:@@@db.io/shop", quoted_password),
    "database url, hash": ("redis://:@@@cache:6379/0", symbols),
    "database url, json": ('{"url":"mysql:\\/\\/bob:@@@db.io\\/shop"}', odd_password),
    "database url, encoded": ("?url=postgres%3A%2F%2Fbob%3A@@%40db.io%2Fshop", short),
    "database url, unicode escapes": ('"postgres:\\u002f\\u002fbob:@@\\u0040db.io"', short),
    "mongodb srv": ("mongodb+srv://bob:@@@c0.x.mongodb.net/db?retryWrites=true", short),
    "amqp with two hosts": ("amqp://bob:@@@h1,h2/vhost", short),
    "sqlalchemy": ("sqlite+pysqlcipher://:@@@/file.db", short),
    "jdbc": ("jdbc:postgresql://db/shop?user=bob&password=@@", short),
    "basic auth": ("https://bob:@@@example.org/x.git", short),
    "token in address": ("https://@@@github.com/x/y.git", tok),
    "ftp": ("ftp://bob:@@@h.io", odd_password),
    "signed address": ("https://b.io/x?X-Amz-Signature=@@", lambda: made(64, HEX)),
    # files of hashes
    "pgpass": ("db.io:5432:shop:bob:@@", short),
    "pgpass stars": ("*:*:*:bob:@@", symbols),
    "htpasswd apr1": ("bob:$apr1$@@", lambda: f"{made(8)}${made(22)}"),
    "htpasswd bcrypt": ("bob:@@", bcrypt),
    "htpasswd sha": ("bob:{SHA}@@", lambda: b64(20)),
    "shadow sha512": ("root:@@:19000:0:99999:7:::", sha512_crypt),
    "shadow yescrypt": ("bob:$y$j9T$@@:19000:0:99999:7:::", lambda: f"{made(22)}${made(43)}"),
    "shadow md5": ("bob:$1$@@:1:0:9:7:::", lambda: f"{made(8)}${made(22)}"),
    "argon2": ("$argon2id$v=19$m=65536,t=3,p=4$@@", lambda: f"{made(22)}${made(43)}"),
    "django hash": ("pbkdf2_sha256$600000$@@", lambda: f"{made(22)}${made(43)}="),
    "scram": ("SCRAM-SHA-256$4096:@@", lambda: f"{b64(18)}${b64(33)}:{b64(33)}"),
    "ldap ssha": ("userPassword: {SSHA}@@", lambda: b64(24)),
    "ntlm dump": ("Administrator:500:@@:::", lambda: f"{hexed()}:{hexed()}"),
    "chpasswd": ("echo 'root:@@' | chpasswd", short),
    # json web tokens
    "jwt": ("sent @@ to it", jwt),
    "jwt wrapped": ("x\n@@\ny", lambda: wrapped(jwt(), 40)),
    "jwt wrapped narrow": ("x\n@@\ny", lambda: wrapped(jwt(), 24)),
    "jwt wrapped, indented": ("x\n    @@\ny", lambda: wrapped(jwt(), 64, "\n    ")),
    "jwt wrapped in json": ('{"t":"@@"}', lambda: wrapped(jwt(), 64, "\\n")),
    "jwt concatenated": ('x = "@1" + "@2"', jwt),
    # private keys
    "pem middle": ("tail:\n@@\nmore text\n", lambda: wrapped(b64(48 * 6), 64)),
    "pem middle, indented": ("  @@\n", lambda: wrapped(b64(48 * 4), 64, "\n  ")),
    "pem middle in a diff": ("+@@\n", lambda: wrapped(b64(48 * 4), 64, "\n+")),
    "openssh middle": ("@@\n", lambda: wrapped(b64(420), 70)),
    "pem in json": ('{"k":"' + "-" * 5 + "BEGIN PRIVATE" + " KEY-----\\n@@\\n", lambda: b64(300)),
    "pem end": ("@@\n" + "-" * 5 + "END RSA PRIVATE" + " KEY-----", lambda: wrapped(b64(288), 64)),
    "putty": ("Private-Lines: 2\n@@\nPrivate-MAC: x", lambda: wrapped(b64(90), 64)),
    "gpg": ("-----BEGIN PGP PRIVATE" + " KEY BLOCK-----\n\n@@", lambda: wrapped(b64(300), 64)),
    # word lists
    "mnemonic": ("mnemonic: @@", mnemonic),
    "seed phrase": ("Seed phrase = @@", lambda: mnemonic(24)),
    "mnemonic in quotes": ('MNEMONIC="@@" npx hardhat', mnemonic),
    "mnemonic in json": ('{"mnemonic": "@@"}', lambda: mnemonic(15)),
    "recovery phrase on the next line": ("Your recovery phrase:\n\n@@\n", mnemonic),
    "seed words in lines": ("seed words:\n@@\n", lambda: mnemonic().replace(" ", "\n")),
    "seed words with numbers": (
        "Seed words:\n@@\n",
        lambda: "\n".join(f"{n}. {w}" for n, w in enumerate(mnemonic().split(), 1)),
    ),
    "wallet import": ("wallet import --mnemonic '@@'", mnemonic),
    # names in disguise
    "zero width space": ("pass\u200bword = @@", short),
    "zero width joiner": ("pass\u200dword: '@@'", symbols),
    "byte order mark": ("\ufeffpassword=@@", short),
    "soft hyphen": ("to\u00adken = @@", tok),
    "word joiner after the name": ("password\u2060: @@", short),
    "zero width in the value": ("password = @1\u200b@2", tok),
    "zero width in a known form": ("sent gh\u200bp_@@", lambda: made(36)),
    "wide letters": ("ｐａｓｓｗｏｒｄ＝@@", short),
    "wide colon": ("password：@@", short),
    "cyrillic letters": ("p\u0430ssw\u043erd: @@", short),
    "russian name": ("Пароль: @@", short),
    "chinese name": ("密码：@@", short),
    "german name": ("Kennwort: @@", short),
    "spanish name": ("contraseña: @@", short),
    "french name": ("mot de passe : @@", short),
    "camel case": ('"userPwd": "@@"', symbols),
    "spaces in the name": ("Pass word: @@", short),
    "abbreviated": ("db_pw=@@", short),
    # command lines
    "mysql": ("mysql -u root -p@@ shop", short),
    "mysql with equals": ("mysqldump --password=@@ shop", short),
    "curl": ("curl -u bob:@@ https://x.io", short),
    "curl header": ("curl -H 'X-Api-Key: @@' https://x.io", hexed),
    "curl cookie": ("curl -b 'session=@@' https://x.io", tok),
    "sshpass": ("sshpass -p '@@' ssh h", short),
    "redis": ("redis-cli -a @@ ping", short),
    "docker login": ("docker login -u bob -p @@ r.io", short),
    "openssl": ("openssl rsa -passin pass:@@ -in k.pem", short),
    "zip": ("zip -P @@ a.zip b", short),
    "seven zip": ("7z x -p@@ a.7z", short),
    "ldapsearch": ("ldapsearch -D cn=admin -w @@ -b dc=x", short),
    "keytool": ("keytool -storepass @@ -list", short),
    "htpasswd command": ("htpasswd -b -c f bob @@", short),
    "net use": ("net use z: \\\\h\\s @@ /user:bob", short),
    "smbclient": ("smbclient //h/s -U bob%@@", short),
    "sqlplus": ("sqlplus bob/@@@orcl", short),
    "sqlcmd": ("sqlcmd -S h -U sa -P @@", short),
    "echo into docker": ("echo @@ | docker login -u bob --password-stdin", short),
    "echo into sudo": ("echo '@@' | sudo -S id", short),
    "ssh-keygen": ("ssh-keygen -t rsa -N '@@' -f k", short),
    "vault": ("vault kv put secret/x value=@@", short),
    "heroku": ("heroku config:set MAIL_PASSWORD=@@", short),
    "aws configure": ("aws configure set aws_secret_access_key @@", lambda: made(40)),
    "gh secret": ("gh secret set X --body '@@'", short),
    "sql create user": ("CREATE USER bob WITH PASSWORD '@@';", symbols),
    "sql doubled quote": ("ALTER USER bob PASSWORD '@1''@2';", tok),
    "sql identified": ("CREATE USER bob IDENTIFIED BY '@@';", symbols),
    "sql update": ("UPDATE users SET password = '@@' WHERE id = 1", symbols),
    # vendors (more of them in test_redact)
    "github": ("@@", lambda: "gh" + "p_" + made(36)),
    "aws": ("@@", lambda: "AK" + "IA" + made(16, string.ascii_uppercase + string.digits)),
    "slack hook": ("hooks.slack" + ".com/services/@@", lambda: f"T{made(8)}/B{made(8)}/{made(24)}"),
    "openai": ("@@", lambda: "sk" + "-proj-" + made(60)),
    "linear": ("@@", lambda: "lin" + "_api_" + made(40)),
    "age": ("@@", lambda: "AGE-SECRET" + "-KEY-1" + made(58, string.ascii_uppercase + "023456789")),
    "doppler": ("@@", lambda: "dp" + ".pt." + made(43)),
    "groq": ("@@", lambda: "gsk" + "_" + made(52)),
    "azure": ("AccountName=x;AccountKey=@@;EndpointSuffix=y", lambda: b64(64)),
    "azure client secret": ("@@", lambda: f"{made(3)}8Q~{made(34)}"),
    "ethereum": ("PRIVATE_KEY=0x@@", lambda: made(64, HEX)),
    "wordpress salt": ("define('AUTH_KEY', '@@');", lambda: made(64, ALNUM + "!#%^&*()-+|")),
    "rails": ("secret_key_base: @@", lambda: made(128, HEX)),
    "laravel": ("APP_KEY=base64:@@", lambda: b64(32)),
    "session cookie": ("Cookie: sid=@@; lang=en", tok),
    "basic header": ("Authorization: Basic @@", lambda: b64(24)),
    "x-auth header": ("X-Auth-Token: @@", hexed),
    "otp address": ("otpauth://totp/x?secret=@@&issuer=y", lambda: made(32, "ABCDEFGHIJ234567")),
}


def filled(name: str) -> tuple[str, str]:
    frame, make = SECRETS[name]
    secret = make()
    half = len(secret) // 2
    text = frame.replace("@1", secret[:half]).replace("@2", secret[half:])
    place = text.find("@@")
    return (text if place < 0 else text[:place] + secret + text[place + 2 :]), secret


@pytest.mark.parametrize("name", SECRETS)
def test_no_part_of_a_secret_is_left(name: str) -> None:
    for _ in range(10):
        text, secret = filled(name)
        redacted = redact(text)
        pieces = [secret[i : i + 5] for i in range(len(secret) - 4)]
        left = [p for p in pieces if p in text and p in redacted and not re.search(r"\s", p)]
        assert not left, f"{text!r} → {redacted!r}"
        assert "[redacted " in redacted
        assert redact(redacted) == redacted
