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
from hypothesis import given
from hypothesis import strategies as st

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
    "long base64 without a name that tells": ("blob=@@", lambda: b64(700)),
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
    # what programs and terminals print
    "mysql's first password": ("A temporary password is generated for root@localhost: @@", short),
    "jenkins' first password": (
        "Please use the following password to proceed to installation:\n\n@@\n",
        hexed,
    ),
    "elastic's first password": (
        "Password for the elastic user (reset with `x`):\n  @@",
        lambda: made(20),
    ),
    "elastic's passwords": ("PASSWORD elastic = @@", lambda: made(20)),
    "minio's start": ("RootUser: minio \nRootPass: @@", short),
    "k3s token": (f"K10{made(64, HEX)}::server:@@", hexed),
    "go data source": ("dial bob:@@@tcp(db:3306)/app failed", short),
    "oracle's jdbc": ("jdbc:oracle:thin:scott/@@@db:1521:x", short),
    "npm's auth": ("_auth=@@", lambda: b64(24)),
    "form part": ('name="password"\r\n\r\n@@\r\n--x', short),
    "terraform change, old": ('~ password = "@@" -> "x"', short),
    "terraform change, new": ('~ password = "x" -> "@@"', short),
    "terraform output": (
        '"db_password": {\n    "sensitive": true,\n    "type": "string",\n    "value": "@@"\n  }',
        short,
    ),
    "pydantic": ("api_key=SecretStr('@@')", short),
    "rust option": ('Config { password: Some("@@") }', short),
    "html entities": ("&quot;password&quot;:&quot;@@&quot;", short),
    "tput": ("\x1b(BPASSWORD\x1b(B\x1b[m=@@", short),
    "hyperlink": ("\x1b]8;;http://x\x07password\x1b]8;;\x07=@@", short),
    "colour with colons": ("\x1b[38:5:12mPASSWORD\x1b[39m=@@", short),
    "smtp": ("AUTH PLAIN @@", lambda: b64(24)),
    "redis prompt": ("127.0.0.1:6379> AUTH bob @@", short),
    "redis settings": ("requirepass @@", short),
    "teams webhook": ("https://x.webhook.office.com/webhookb2/a@b/IncomingWebhook/@@/c", hexed),
    "mongosh": ("mongosh -u bob -p @@", short),
    "helm login": ("helm registry login r.io -u bob -p @@", short),
    "twine": ("twine upload -u __token__ -p @@ dist/*", tok),
    "httpie": ("http -a bob:@@ h.io", short),
    "openssl key": ("openssl enc -aes-256-cbc -k @@ -in x", short),
    "snmp, first": ("snmpwalk -v3 -A @@ -X other-phrase1 h", short),
    "snmp, second": ("snmpwalk -v3 -A other-phrase1 -X @@ h", short),
    "cargo login": ("cargo login @@", lambda: made(32)),
    "dotnet": ("dotnet user-secrets set 'Db:Password' '@@'", short),
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
    "psql one column": (" password  \n-----------\n @@\n(1 row)", short),
    "psql one column of tokens": ("  api_token  \n-------------\n @1@2\n @@\n(2 rows)", tok),
    "rst simple table": (
        (
            "========  ==========\nuser      password\n========  ==========\nbob       @@\n"
            "========  =========="
        ),
        short,
    ),
    "rst simple table, column in the middle": (
        (
            "===== ============ =====\nuser  password     mail\n===== ============ =====\n"
            "ann   x1           a@b.c\nbob   @@   b@b.c\n===== ============ ====="
        ),
        short,
    ),
    "sqlcmd columns": ("name password\n---- ----------\nbob  @@\n\n(1 rows affected)", short),
    "powershell table": ("\nUser Password\n---- --------\nbob  @@\n\n", short),
    "psql in json": ('{"stdout": " password \\n----------\\n @@\\n(1 row)"}', short),
    "markdown column in json": ('{"out": "| a | password |\\n|---|---|\\n| b | @@ |"}', short),
    "html header": (
        "<table><tr><th>user</th><th>password</th></tr><tr><td>bob</td><td>@@</td></tr></table>",
        short,
    ),
    "html header in lines": (
        (
            '<table class="x">\n <thead>\n  <tr>\n   <th>user</th>\n   <th scope="col"><b>Password</b>'
            "</th>\n  </tr>\n </thead>\n <tbody>\n  <tr><td>ann</td><td>x1</td></tr>\n"
            "  <tr>\n   <td>bob</td>\n   <td><code>@@</code></td>\n  </tr>\n </tbody>\n</table>"
        ),
        short,
    ),
    "html header beside a row": ("<tr><th>password</th><td>@@</td></tr>", short),
    "mnemonic in a json list": ('{"mnemonic": ["@@"]}', lambda: mnemonic().replace(" ", '", "')),
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
    "terminal colours": ("\x1b[31mpassword\x1b[0m: \x1b[1m@@\x1b[0m", short),
    "tag characters": ("to\U000e0041ken = @@", tok),
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
    "smbclient, read as a percent code": ("smbclient //h/s -U bob%@@", lambda: "22" + made(8)),
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


def _uuid() -> str:
    return "-".join(made(size, HEX) for size in (8, 4, 4, 4, 12))


ORDINARY: dict[str, Callable[[], str]] = {
    # hashes, identifiers, digests
    "commit": lambda: f"commit {made(40, HEX)} (HEAD -> main, tag: v1.2.3)",
    "short commit": lambda: f"{made(9, HEX)} Fix the token refresh",
    "git index": lambda: f"index {made(9, HEX)}..{made(9, HEX)} 100644",
    "git tree": lambda: f"100644 blob {made(40, HEX)}\tsrc/auth/password.py",
    "merge": lambda: f"Merge: {made(7, HEX)} {made(7, HEX)}",
    "uuid": lambda: f"id: {_uuid()}",
    "uuid in json": lambda: f'{{"user_id": "{_uuid()}", "ok": true}}',
    "uuid in a path": lambda: f"/api/v1/users/{_uuid()}/sessions",
    "request id": lambda: f"X-Request-Id: {_uuid()}",
    "trace parent": lambda: f"traceparent: 00-{made(32, HEX)}-{made(16, HEX)}-01",
    "digest": lambda: f"sha256:{made(64, HEX)}",
    "image with a digest": lambda: f"FROM docker.io/library/python@sha256:{made(64, HEX)}",
    "pulled digest": lambda: f"Digest: sha256:{made(64, HEX)}",
    "sum file": lambda: f"{made(64, HEX)}  package-1.2.3.tar.gz",
    "md5": lambda: f"md5: {made(32, HEX)}",
    "etag": lambda: f'ETag: "{made(32, HEX)}"',
    "go.sum": lambda: f"github.com/pkg/errors v0.9.1 h1:{b64(32)}",
    "go.sum mod": lambda: f"golang.org/x/sys v0.1.0/go.mod h1:{b64(32)}",
    "npm integrity": lambda: f'"integrity": "sha512-{b64(64)}",',
    "yarn integrity": lambda: f"  integrity sha512-{b64(64)}",
    "pnpm integrity": lambda: f"    resolution: {{integrity: sha512-{b64(64)}}}",
    "npm resolved": lambda: '"resolved": "https://registry.npmjs.org/@babel/core/-/core-7.1.tgz",',
    "yarn resolved": lambda: f'resolved "https://registry.yarnpkg.com/x/-/x-1.tgz#{made(40, HEX)}"',
    "cargo checksum": lambda: f'checksum = "{made(64, HEX)}"',
    "poetry hash": lambda: f'{{file = "x-1.0.whl", hash = "sha256:{made(64, HEX)}"}},',
    "pip hash": lambda: f"    --hash=sha256:{made(64, HEX)} \\",
    "wheel record": lambda: f"pkg/secrets.py,sha256={b64(32).replace('/', '_')[:-1]},1234",
    "script integrity": lambda: f'<script src="x.js" integrity="sha384-{b64(48)}">',
    "ssh fingerprint": lambda: f"256 SHA256:{b64(32)[:-1]} host (ED25519)",
    "ssh host key check": lambda: f"key fingerprint is SHA256:{b64(32)[:-1]}.",
    "object id": lambda: f'{{"_id": "{made(24, HEX)}"}}',
    "nix path": lambda: "/nix/store/0c8fxzk3rp1yr9q7yv4a2n6mhv3kz5dw-hello-2.12",
    "docker id": lambda: f"CONTAINER ID   {made(12, HEX)}   nginx   Up 3 minutes",
    "build file": lambda: f"dist/assets/index-{made(8)}.js   143.20 kB │ gzip: 46.10 kB",
    "content hash": lambda: f"contentHash: {made(20)}",
    "serial": lambda: "Serial Number: 04:8a:11:3f:9c:00:7d:e2",
    "mac address": lambda: "link/ether 02:42:ac:11:00:02 brd ff:ff:ff:ff:ff:ff",
    "ipv6": lambda: "inet6 fe80::42:acff:fe11:2/64 scope link",
    "hex dump": lambda: "00000010: 3f2a 9c8b 7d6e 5f4a 3b2c 1d0e 9f8a 7b6c  ?*..}n_J;,",
    "public key": lambda: "ssh-ed25519 AAAAC3NzaC1lZDI1" + made(55) + " bob@laptop",
    "image in base64": lambda: f'<img src="data:image/png;base64,{b64(300)}"/>',
    "source map": lambda: (
        "//# sourceMappingURL=data:application/json;base64,eyJ2ZXJzaW9uIjoz" + b64(90)
    ),
    "certificate": lambda: (
        "-----BEGIN CERTIFICATE-----\n" + wrapped(b64(480), 64) + "\n-----END CERTIFICATE-----"
    ),
    # code that speaks about secrets
    "signature": lambda: "def login(user: str, password: str, token: str | None = None) -> None:",
    "getpass": lambda: 'password = getpass.getpass("Password: ")',
    "environment": lambda: 'api_key = os.environ["API_KEY"]',
    "node environment": lambda: "const token = process.env.GITHUB_TOKEN;",
    "keyword arguments": lambda: "login(user=user, password=password)",
    "comparison": lambda: "if password == stored_password: return token",
    "if with a body": lambda: "if not token:\n    raise Unauthorized2(user)",
    "if with a return": lambda: "if password:\n    return hash2(password)",
    "else": lambda: "for token in tokens:\n    count2 += 1",
    "docstring below": lambda: 'class Token:\n    """A token of the lexer."""',
    "type": lambda: "password: Optional[SecretStr] = None",
    "typescript interface": lambda: "interface Login { password: string; token?: string }",
    "go struct tag": lambda: 'Password string `json:"password"`',
    "go struct nil": lambda: "cfg := Config{Token: nil, Secret: secretFrom(env)}",
    "rust": lambda: "let token = self.tokens.next().unwrap();",
    "java getter": lambda: "public String getPassword() { return this.password; }",
    "sql column": lambda: "password VARCHAR(255) NOT NULL,",
    "sql parameter": lambda: "UPDATE users SET password = ? WHERE id = ?",
    "sql named parameter": lambda: "INSERT INTO t (token) VALUES (:token)",
    "openapi": lambda: "        password:\n          type: string",
    "json schema": lambda: '"password": {"type": "string", "minLength": 8}',
    "form": lambda: '<input type="password" name="password" required>',
    "label": lambda: '<label for="password">Password</label>',
    "css": lambda: 'input[type="password"] { width: 100% }',
    "argparse": lambda: 'parser.add_argument("--token", help="the token to use")',
    "short option": lambda: 'parser.add_argument("--password", "-p", default=None)',
    "tokenizer": lambda: 'tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")',
    "token counts": lambda: "tokens: 1234, max_tokens=4096, prompt_tokens 88",
    "primary key": lambda: "primary_key=True, foreign_key: user_id",
    "key function": lambda: "rows.sort(key=lambda row: row.token2)",
    "arrow": lambda: "token => next(token), secret -> value",
    "attribute": lambda: "api_key=settings.API_KEY, secret=self._secret",
    "template": lambda: "password: {{ vault_password }}",
    "workflow": lambda: "TOKEN: ${{ secrets.TOKEN }}",
    "shell variable": lambda: 'curl -H "Authorization: Bearer $TOKEN" https://example.org',
    "shell default": lambda: 'PASSWORD="${PASSWORD:-}" --password "$PASSWORD"',
    "shell command": lambda: "TOKEN=$(gh auth token)",
    "terraform variable": lambda: (
        'variable "db_password" {\n  type = string\n  sensitive = true\n}'
    ),
    "terraform reference": lambda: "password = var.db_password",
    "kubernetes reference": lambda: "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:",
    "placeholder": lambda: "password: <your-password>  token: ******",
    "words": lambda: "API_KEY=your_api_key_here",
    "import": lambda: "from secrets import token_hex, token_urlsafe",
    "java class": lambda: "com.example.auth.PasswordResetTokenRepository2Test",
    "camel case": lambda: "name=TestPaymentGatewayRetriesTwice2InARow",
    "regular expression": lambda: r"re.compile(r'password\s*=\s*(\S+)')",
    "slice": lambda: "decode(ids, skip_special_tokens=True)",
    # logs, tests, prose
    "pytest": lambda: "FAILED tests/test_auth.py::test_token_expired[param-1] - AssertionError",
    "assertion": lambda: "E  assert response.status_code == 200, got 401 Unauthorized",
    "traceback": lambda: '  File "/w/src/auth/password_reset.py", line 12, in reset_password',
    "syntax error": lambda: "SyntaxError: Unexpected token o in JSON at position 1",
    "parse error": lambda: "parse error near unexpected token `}'",
    "attribute error": lambda: "AttributeError: 'Token' object has no attribute 'value2'",
    "key error": lambda: "KeyError: 'access_token'",
    "expired": lambda: "jwt.exceptions.ExpiredSignatureError: token has expired",
    "access log": lambda: '10.0.0.1 - - [01/Jan/2026:10:00:00] "POST /login HTTP/1.1" 200 512',
    "log line": lambda: "2026-01-01T10:00:00.123Z INFO auth: token refreshed in 35ms",
    "log with a level": lambda: 'level=warn msg="invalid token" user=bob attempts=3',
    "prompt": lambda: "Enter password:",
    "sudo prompt": lambda: "[sudo] password for bob:",
    "validation": lambda: "password: must be at least 8 characters",
    "field error": lambda: '{"password": ["This field is required."], "token": null}',
    "common password": lambda: '"password": "This password is too common."',
    "prose": lambda: "The password was reset, the token has expired, the secret is out.",
    "markdown list": lambda: "- **Token**: identifies the caller",
    "markdown table": lambda: "| token | string | The token of the caller |",
    "markdown head": lambda: "| Option | Token | Meaning |\n|---|---|---|\n| a | b | c |",
    "rst table": lambda: (
        "=======  =======\nToken    Meaning\n=======  =======\nfloat64  wide\n=======  ======="
    ),
    "rst table of a parser": lambda: "Token  Line\n-----  ----\nNAME2  12\nident_2  13",
    "setext heading": lambda: "Password\n--------\n\nauth2session.py\nhash2word and more\n",
    "setext heading and prose": lambda: "API token\n=========\nSee auth2session.py for more.\n",
    "psql tables": lambda: "  table_name  \n--------------\n auth2tokens\n user2group\n(2 rows)",
    "html table": lambda: (
        "<table><tr><th>Token</th><th>Type</th></tr><tr><td>ident2</td><td>int32ptr</td></tr></table>"
    ),
    "html rows of headers": lambda: (
        "<tr><th>password</th><td>required</td></tr><tr><th>sha256sum</th><td>x86_64</td></tr>"
    ),
    "kubectl": lambda: (
        "NAME                  TYPE     DATA   AGE\ndefault-token-abc12   Opaque   3      5d"
    ),
    "heading": lambda: "## Password policy",
    "seed prose": lambda: "seed: we use the same number for every test that is started here",
    "random seed": lambda: "seed = 42",
    "url": lambda: "http://localhost:8080/users/@me?page=2",
    "url with a port": lambda: "DATABASE_URL=postgres://localhost:5432/shop",
    "url with a variable": lambda: "postgres://bob:$PASSWORD@localhost/shop",
    "git remote": lambda: "origin\tgit@github.com:example/repository.git (fetch)",
    "ssh remote": lambda: "ssh://git@example.org:2222/example/repository.git",
    "scoped package": lambda: "https://cdn.example.org/npm/@scope/package@1.2.3/dist/x.js",
    "mail": lambda: "author: Bob Smith <bob@example.org>",
    "compiler": lambda: "src/token.c:1234:17: error: expected ';' before 'token'",
    "path": lambda: "PATH=/home/Bob/Library2/Python3/TestCase/bin:/usr/lib/python3.11",
    "windows path": lambda: r"C:\Users\bob\AppData\Local\new\token\cache",
    "docker user": lambda: "docker run -u 1000:1000 -p 8080:80 image",
    "mysqldump": lambda: "mysqldump --opt shop > shop.sql",
    "rsync": lambda: "rsync -p 22 a b; ssh -p 2222 host",
    "grep": lambda: "grep -rn 'password' src/ | wc -l",
    "test selection": lambda: 'pytest -k "token and not secret"',
    "csv": lambda: "name,count,share\nalpha1,12,0.5\nbeta22,12,0.5",
    "parameters below each other": lambda: "user,password,mail\nx = 1",
    "percentages": lambda: "| cost | 170k-616k | higher |",
    "korean": lambda: "비밀번호를 재설정하는 화면을 고쳤다",
    "japanese": lambda: "パスワードの再設定画面を直した",
    "keyboard": lambda: "keyboard: us, monkey: 3, secretary: Alice, compass: north",
    "concatenated prose": lambda: 'message = "the token " + "has expired"',
    "continuation": lambda: "docker build \\\n  --tag shop:1 \\\n  .",
}
FEW = len(ORDINARY) // 40


def test_hardly_an_ordinary_line_is_touched() -> None:
    assert len(ORDINARY) >= 120
    touched = {
        name: redact(text) for name, make in ORDINARY.items() if (text := make()) != redact(text)
    }
    assert len(touched) <= FEW, touched


@pytest.mark.parametrize("name", ORDINARY)
def test_lines_of_hashes_and_code_keep_their_shape(name: str) -> None:
    text = ORDINARY[name]()
    once = redact(text)
    assert redact(once) == once


FRAMES = st.sampled_from([frame for frame, _ in SECRETS.values()])
FILLINGS = st.sampled_from(
    ["aB3dE5gH7j", "hunter2", "[redacted password]", '"', "\\\n", "\u200b", "@"]
)


@pytest.mark.slow
@given(st.lists(st.tuples(FRAMES, FILLINGS, FILLINGS), max_size=4), st.sampled_from("\n ,;&\\"))
def test_redacting_frames_twice_changes_nothing_more(
    parts: list[tuple[str, str, str]], joint: str
) -> None:
    text = joint.join(
        frame.replace("@@", first + second, 1).replace("@1", first).replace("@2", second)
        for frame, first, second in parts
    )
    once = redact(text)
    assert redact(once) == once


HOSTILE = (
    *("a", "\\", '"', "'a'", "%", "\u200b", "=", ": ", "\n", " ", "|", ",", "a,password\n"),
    *("password ", "password:", "password:\n", "password,", "password|", "token token", "key"),
    *("password value", "password {", "password>", "<value>", "name: password\n", "p\u0430ss"),
    *("eyJ", "eyJaaaaaaaaa\n", "eyJaaaaaaaaa.", "A" * 64 + "\n", "aB3/", "aB3+dE5g", "-----BEGIN "),
    *("://a:", "a:1234:b:", "$2y$", "{SHA}", "seed words ", "abandon ", "seed: abandon "),
    *("echo a | sudo ", "curl -u a", "mysql -p ", "7z a ", "zip - ", "[redacted ", "パスワード"),
    *("password\n---\n", "a  password\n-  ---\n", "- -", "<th>password", "<th>password</th>"),
    *("<tr><th>password</th></tr>", "<td>a2345678", "<table", "<", "<th>", "---\n"),
    *("-----BEGIN PRIVATE KEY-----", "cookie: a=", "authorization:", "bearer ", "sk-", "login a "),
)


@pytest.mark.slow
@pytest.mark.parametrize("piece", HOSTILE)
def test_time_grows_with_the_length_and_no_faster(piece: str) -> None:
    def seconds(size: int) -> float:
        text = (piece * size)[:size]
        started = time.process_time()
        redact(text)
        return time.process_time() - started

    def is_linear() -> bool:
        small = max(min(seconds(4_000) for _ in range(3)), 0.001)
        return min(seconds(32_000) for _ in range(2)) < 8 * 3 * small

    seconds(1_000)
    assert any(is_linear() for _ in range(5))  # a busy machine may make one measurement odd
