"""Topics from r to s, by their first word.

See `lessons_kb.recall.ways` for how a line is read.
"""

from __future__ import annotations

WAYS = r"""
race/concurren/parallel/simultan test/reproduc/prove/stress/check/cover : -race|threads|in
  parallel|concurrently|promise.all|barrier|goroutines|stress|at the same time|two~at once|gather|
  simultaneous|clients at once|pgbench|executor|동시에|병렬로
race/stampede/expire cache/entry : race_condition_ttl|lock|single|stale|jitter|early
random/token/id/uuid/난수 secure/crypto/predict/guess/unique/안전 : secrets.|crypto.random|
  randombytes|getrandomvalues|securerandom|crypto/rand|uuid4|uuidv7|nanoid|ulid|os.urandom|
  randomuuid|128 bits|32 bytes
random/token/secret/id/key/otp/session secure/crypto/predict/guess/strong : secrets.|randombytes|
  crypto.|token_urlsafe|urandom|securerandom|csprng|getrandomvalues|rand.reader
rate/limit/throttle/quota/호출/제한 api/request/endpoint/calls/client/user/요청 : 429|ratelimit|
  rate-limit|@ratelimiter|limiter|throttle|bucket|per minute|per second|per hour|retry-after|
  x-ratelimit|slowapi|upstash|limit_req|sleep(|semaphore|분당|초당
ratelimit/rate-limit/limit/vendor/quota header/honour/honor/respect : x-ratelimit|retry-after|
  remaining|sleep until|reset
read/replica/primary/lag/consistency stale/write/route/own/separate : using("default")|
  using('default')|primary|replica|read your|sticky|lsn|synchronous|wait for
read/setting/verify/writing device/back/after/register : read back|reads back|readback|compares|
  verify
reader/voiceover/낭독 : voiceover|nvda|talkback|jaws|orca|screen reader|aria-live|role=|announc|
  read out|낭독
readme/문서/docs/documentation : readme|docs/|documented|doc page|guide|wiki|section|docstring|man
  page|runbook|문서|안내|위키|explains how
reconnect/resume/재연결 event/last/after/missed/stream/state : last-event-id|last id|cursor|since=|
  replay|resum|offset|sequence|missed
record/tenant/other/another/타인/다른 404/access/answer/test/deny : 404|403|other tenant|other
  user|two tenants|another account|belongs|scope
recording/microphone/camera/media release/stop/end/length/bound : .stop()|tracks|turns off|
  released|stops after|indicator|60 s|closes|minutes
red/fail without/first/before/against/test : fails without|red before|failed before|fails on the
  old|fails on main|saw it fail|first wrote|failing test|without the fix|stash|red first|실패하는
redact/mask test/verify/check : asterisks|fake card|***|redacted|not in caplog|assert~not in
redirect/link/url/next 외부/open/allow/relative/own/validate/check/safe : startswith("/")|
  startswith('/')|url_has_allowed|same origin|new url(|relative paths only|host is ours|falls back
  to /|ignored otherwise
redirect/next/return/url open/allow/relative/check/valid/external/own/host : url_has_allowed_host|
  is_safe_url|relative|same host|allowlist|starts with /|own host|same origin|startswith('/')|
  only~paths
regex/pattern backtrack/catastroph/redos/slow/linear/nested/patholog/adversari : re2|linear|
  possessive|atomic|backtrack|quantifier|bounded|length~limit|timeout|rewrote|no longer nested|
  replaced~parser|ms for
regex/regular/pattern/정규식 redos/backtrack/anchor/escape/test/bound/limit : re.escape|
  escaperegexp|quote(|\b|fullmatch|re2|possessive|linear|bounded|{1,|timeout
regression/replicate/repro/재현/회귀 : repro|failing test|fails without|red before|test_issue|
  issue_|test for the bug|regression|with the same input|could trigger|재현|회귀
reject/refuse/ignore/deny/block/bounce/거부/거절/차단/막 unknown/stranger/unlisted/sender/
  unauthori/unregister/foreign/allowlist/other/모르는/허용/알 : not in allow|allowed_|allowlist|
  whitelist|stranger|unauthori|403|401|forbidden|is ignored|are ignored|turned away|get a refusal|
  nobody else|anyone else|only~listed|only~may|only known|known~only|허용 목록|허용목록|등록되지
  않은
remote/service/api/lookup/query/call message/each/per/once/loop/never : cache|batch|bulk|one call|
  in one|prefetch
rename/name/이름/예전/path old/former/이전/예전/support/working/지원/import : alias|re-export|
  deprecat|warning|legacy|still accept|both names|fallback|old name|shim|예전 이름도|경고
report/summary/answer/handover/description/pr short/what/why/changed/state/explain/mention/limit/
  open/risk/not : summary|what changed|why|because|not done|known|left|remaining|risk|how to test|
  요약|남은
reproduce/root/cause/diagnose/understand/find/원인/재현 bug/issue/problem/failure/fix/before/first/
  오류/버그/문제 : caused by|the cause|the reason|because|turned out|it was|culprit|came from|
  boiled down to|due to|bisect|reproduced|could trigger|happens when|only when|steps to|stack
  trace|원인은|때문이|재현
reproducib/determin/identical build/artifact : source_date_epoch|reproducib|same hash|identical|
  pinned|locked|digest|hermetic|bazel|nix
reset/recover device/stop/hang/answer : reset|power cycle|reconnect|reopen|watchdog|reinit
resource/file/connection/handle/socket/stream close/release/free/leak/clean/context/닫/해제 : with|
  using|defer|finally|try (|try-with|.close()|close_all|contextmanager|__exit__|aclosing|drop(|
  ensure|use {|autocloseable|idisposable|arena
resource/memory/cpu/limit/메모리 container/pod/request/limit/set/제한/컨테이너 : limits:|requests:|
  memory:|mem_limit|--memory|cpus:|512mi|256mi|resources:|gomemlimit|-xmx|max-old-space|메모리 제한
retention/retain/old/delete/expire/archive/purge/keep/long/보관 days/period/age/after/record/logs/
  data/backup/audit/기간/년/로그 : days|months|year|ttl|lifecycle|expire|purge|keep the last|older
  than|retention|rotat|deleted after|보관|일 뒤|년
retry/retries/attempt/loop/reconnect/재시도 limit/max/bound/cap/number/endless/forever/budget/give/
  finite/횟수/제한/상한 : up to~times|three times|3 times|five times|max_attempts|maxretries|
  max_retries|retries=|stop_after|at most|attempts|gives up|gave up|range(3)|range(5)|< 3|< 5|retry
  limit|dead letter|번까지|회까지|최대
retry/retries/reconnect/backoff/wait/재시도 backoff/jitter/exponent/delay/increas/wait/grow/spread/
  space/간격/지수 : backoff|exponential|2 **|jitter|1, 2, 4|1 s, 2 s|doubl|wait_exponential|delay|
  random|sleep|wait_random|grow|longer|interval|spaced|1초, 2초|백오프|지수|늘려
retry/retries/재시도 bound/cap/limit/backoff/jitter/exponential/transient/attempts/times/횟수/
  백오프 : stop_after_attempt|wait_exponential|retry(|retries:|max_attempts|maxattempts|p-retry|
  async-retry|exponentialbackoff|backoffcoefficient|retrytemplate|@retryable|urllib3|retry-after|
  attempt <|attempt >|1 s, 2 s|1, 2, 4|doubles|doubling|gives up|dead letter|tries it|at most|after
  the third|after the fifth|세 번|다섯 번|포기
retry/retries/재시도 idempot/safe/only/transient/temporary/network/read/4xx/status/which/permanent/
  일시 : only~timeout|5xx|503|429|connection error|transient|idempot|get only|not~4xx|client
  errors|final|4xx~not|retry_if|connectionerror|timeouts and|일시적|400번대
retry/재시도 backoff/백오프/external/외부/api : retry|tenacity|backoff|resilience4j|@retryable|
  attempts|세 번|재시도|지수|초 간격
review/approve/승인/리뷰 merge/before/병합/전에/deploy/배포 : approved|lgtm|reviewed|pull request|
  승인|리뷰
review/generated/sql/diff/plan/output 전에/before/read/check/inspect/apply : opened~file|read the|
  looked at the|went through|found a|edited|terraform plan|plan says|diff|dry run|only then
robots/crawl/scrape/site respect/robots/429/stop : robots.txt|robotparser|retry-after|429|
  crawl-delay|user-agent
role/admin/permission/access/owner/authoriz/authoris/권한/관리자 check/verify/require/enforce/only/
  protect/restrict/limit/deny/확인/검사/제한 : @preauthorize|hasrole(|hasauthority|requirerole|
  require_permission|@permission_required|userpassestestmixin|authorize!|pundit|casl|ability|can?(|
  isowner|owner_id ==|owner_id !=|user.id !==|!== req.user|where: { userid|findfirst({ where|
  current_user.|forbidden|403|404 for strangers|somebody else's|someone else's|other people's|not
  theirs|belongs to|본인이 아니|다른 사용자|관리자만
role/admin/관리자 check/require/restrict/only/protect/deny/reject/403/확인/거부/접근 : 403|
  requirerole|@roles|is_staff|isadmin|require_admin|role|hasrole|permission|policy|forbidden|admin
  only|only admin|역할|403을|권한
role/iam/assume/trust limit/who/restrict : trusts only|principal|oidc|sub|condition|aws:sourcearn
roll/롤백 script/way/plan/procedure/provide/prepare/test/have/tried/절차/준비/시험 : rollback|roll
  back|down.sql|downgrade|revert|undo|back to|previous version|rolled back|one command|switch back|
  flag off|helm rollback|롤백|되돌
rollback/롤백/restore/복구/복원 test/try/시험/procedure/절차/실제 : rolled back|restored|tried|
  drill|downgrade|back and forth|되돌려|복원해|롤백해|시험
root/루트/비루트 container/run/user/컨테이너/실행/unprivileged : user app|user node|user 1000|user
  nonroot|nonroot|runasnonroot|adduser|useradd|distroless|--user|일반 사용자|user www|uid 1000|
  rootless
round/반올림 rule/state/explicit/규칙/명시 : half_even|half-even|half_up|half up|rounding=|bankers|
  quantize|문서에|반올림
run/실행/돌린 test/suite/check/linter/테스트/검사 : pytest|npm test|go test|cargo test|make test|
  make check|tests pass|suite~pass|passed|green|ran the|mvn test|gradle|dotnet test|rspec|lint|tox|
  테스트를 돌|테스트 통과|통과했|모두 통과
runbook/playbook/런북 : runbook|playbook|docs/ops|wiki|steps|procedure|how to|런북|절차
safari/사파리 : safari|webkit|iphone|ios|browserstack|사파리
sanitizer/asan/addresssanitizer/valgrind/miri : asan|ubsan|tsan|-fsanitize|sanitizer|valgrind|miri
scanner/vulnerability/vulnerabilities/severity/cve/audit/advisory/advisories/취약점 stop/build/
  fail/block/scan/high/check/look/image/depend/검사/이미지 : exit-code: 1|--exit-code|fails the
  build|trivy|grype|npm audit|pip-audit|cargo audit|snyk|0 vulnerab|osv|no advisories|advisory|
  dependabot|blocks|govulncheck|취약점
schedul/cron/job/task/backup/예약 monitor/alert/fail/notif/missed/heartbeat/silent/알림 :
  healthchecks|heartbeat|alert|pings|dead man|sentry|slack|mail|on failure|onfailure|notifies|
  pager|알림
schedul/cron/job/task/timer/예약 overlap/concurren/twice/lock/once/parallel/simultan/single/겹 :
  lock|flock|advisory|forbid|concurrencypolicy|max_instances|without_overlapping|redlock|singleton|
  already running|leader|setnx|pid file|one at a time|skip~running|겹치|락
schema/column/field/table/컬럼/테이블 null/default/constraint/unique/not/check/type/foreign/index/
  제약/기본 : not null|default|unique|check (|references|primary key|foreign key|nullable=false|
  null=false|@column|validates|constraint|on delete|제약
scope/unrelated/other/only/minimal/small change/diff/file/edit/touch/수정/변경/파일 : nothing else|
  no other|only~changed|one file|two files|left alone|left as it|untouched|did not touch|didn't
  touch|separate pr|kept the diff|diff is|lines changed|byte for byte|rest~same|다른 파일은|
  건드리지|그대로 두
screen/page/list/view/화면/목록 empty/error/loading/state/message/빈/오류/로딩/상태 : skeleton|
  spinner|isloading|suspense|errorboundary|empty|no results|nothing here|fallback=|retry|
  placeholder|빈 상태|안내 문구|없습니다|스켈레톤
screenshot/스크린샷 : screenshot|before and after|picture|attached|png|캡처|스크린샷
script/command/run idempot/twice/again/rerun/repeat/safe/second : idempot|second run|again|twice|if
  not exists|already|mkdir -p|ln -sf|no-op|skips what|skip~done|on conflict|--if-not|rerun|nothing
  changes|changed=0|두 번 실행|다시 실행|멱등
scroll/back/history/url/filter/state/tab restore/preserve/keep/persist/sync/share/navigat/유지 :
  scrollrestoration|scrollto|sessionstorage|searchparams|usesearchparams|query string|in the url|
  pushstate|replacestate|nuqs|history.state|bfcache|back button|주소
scroll/back/뒤로/스크롤 position/restore/keep/유지/위치 : scrollrestoration|scroll position|
  sessionstorage|restores|복원|위치
search/filter/검색 empty/escape/debounce/page/index/case/limit/result/빈/결과 : ilike|trigram|
  tsvector|to_tsquery|websearch|lower(|escape|no results|empty|limit|debounce|결과가 없
second/connection/nested acquire/hold/never : same connection|passed in|one connection|single
  connection|releases~before|nested
secret/config/password kubernetes/docker/compose/terraform/helm/ci/workflow/image : secretkeyref|
  external-secrets|sealedsecret|sops|secrets.|docker secret|--mount=type=secret|vault|ssm|sensitive
  = true|env_file|data "aws_secretsmanager
secret/env/.env/credential/key commit/ignore/push/git/커밋 : .gitignore|gitignore|.env.example|
  gitleaks|pre-commit|git rm --cached|filter-repo|not in the repo
secret/key/키/api client/browser/클라이언트/frontend/app/bundle : server|proxy|not sent|backend|no
  longer in the|env|서버로 옮|서버에서|내려가지
secret/token/credential/key/leak/유출 rotat/revok/renew/reissu/invalid/replace/교체/폐기 : rotat|
  revok|new key|new token|reissu|invalidated|old~disabled|regenerat|replaced~key|폐기|재발급|교체
secret/token/credential/key/password/비밀/키/토큰 code/repo/commit/hardcod/source/bundle/config/
  log/plain/코드 : process.env|os.environ|os.getenv|env(|secretsmanager|getsecretvalue|
  secret_key_base|keyvault|doppler|infisical|dotenv|github secrets|repository settings|repository
  secrets|from the environment|taken from the env|injected at|mounted as|read at runtime|run time
  from|stored in vault|no longer~in the repo|moved to the env|환경에서|시크릿 매니저|secret manager
secret/token/credential/key/password/비밀/토큰/키 code/repo/commit/git/hardcod/source/env/vault/
  store/config/image/bundle/client/browser/manager/환경/코드 : os.environ|process.env|getenv|env
  var|environment|vault|secrets manager|secret manager|1password|.env|gitignore|kms|keychain|ssm|
  sealed|sops|gitleaks|no longer in the|--mount=type=secret|secrets.|on the server|from the env|
  환경 변수|환경변수|서버로 옮
secret/token/credential/password/key/personal/card/비밀/토큰 log/print/error/message/output/url/
  expos/leak/mask/redact/로그 : redact|mask|***|filter|scrub|not logged|no longer log|stripped|
  header instead|removed~log|last four|only the id|hash|sanitiz|[filtered]|sensitiveparam|가렸|
  마스킹|로그에서
secret/token/key/credential/leak/exposed/노출/유출 rotat/revok/invalidat/replace/new/renew/폐기/
  재발급 : rolled the key|new pair|issued a new|old one~revoked|old one is dead|deactivat|disabled
  the old|regenerated|replaced in|re-issued|issued afresh|새로 발급|폐기
seed/시드 : seed|random_state|manual_seed|default_rng|rng|random.seed|srand|시드
select/column/fields/query star/only/needed/necess/all/specific/필요 : only~columns|.only(|
  .values(|select id|defer(|no select *|projection|pick(|필요한 열
semantic/native/element/button/clickable/interactive/div : <button|<a href|<nav|<main|<fieldset|
  <dialog|<details|type="button"|real button|proper button|native
sensitive/민감/secret/fields list/place/목록/곳/한 : sensitive =|one list|central|settings|민감|
  SENSITIVE
server/client/frontend/browser trust/valid/check/twice/again/rely/side/too/both/also : on the
  server|server-side|server side|backend|api~check|again in|both|recomputed|ignores~client|from the
  session|never trust|서버에서
server/host/ssh/firewall/nginx/config/service/systemd/설정 test/check/valid/syntax/reload/before :
  nginx -t|sshd -t|visudo -c|--check|configtest|systemd-analyze|validate|reload|named-checkconf|
  promtool|문법
server/host/ssh/remote/firewall lock/lose/session/access/open/keep/second/console : second session|
  kept~open|at now|rollback timer|console|still~log in|revert in|another terminal|세션
session/cookie/세션/쿠키 httponly/secure/samesite/flag/attribute : httponly|secure|samesite|
  cookie_secure|same_site|__host-
session/cookie/세션/쿠키 secure/httponly/samesite/flag/protect/set/store : httponly: true|
  httponly=true|samesite: 'lax'|samesite=lax|samesite=strict|secure: true|session_cookie_secure|
  sessioncookiehttponly|set-cookie|out of reach of scripts|not readable from javascript|__host-
session/login/id/token rotat/regener/new/fixation/renew/after/logout/invalid/revok/end/expire :
  regenerate|cycle_key|new session|reset_session|invalidat|revok|session.clear|rotat|destroy|flush|
  logged out everywhere|deleted~session|세션을 새로|무효
session/token/device/세션/기기 invalid/revoke/end/logout/sign/password/change/kill/무효/로그아웃 :
  tokenversion|token_version|session_version|signed out|sign out everywhere|logged out|deletemany|
  delete from sessions|revoke_all|all other devices|other devices|refresh tokens~deleted|
  everywhere|모든 기기|모든 세션
shared/common/same code/function/feature/training/serving/place/setting/every : one function|same
  function|shared|common|imported by both|both use|one place|single|package|goes through|go
  through|공통|한 곳
shell/bash/script strict/fail/error/unset/pipefail/stop/abort/set/errexit/first : set -e|pipefail|
  -euo|errexit|nounset|exit 1|trap
shell/bash/script/스크립트 safe/strict/quote/error/fail/set/pipefail/안전 : set -e|pipefail|trap|
  "$@"|"${|shellcheck|mktemp|exit 1|$erroractionpreference
shell/command/subprocess/process/argument inject/list/array/argv/quot/escape/shell/safe/interpolat/
  string/untrusted/pass/user : subprocess.run([|shell=false|execfile|list of arguments|argument
  list|as a list|shlex|args array|argv|no shell|without a shell|shell=true~gone|exec.command|
  spawn(|quoted|인자 목록|배열로|셸을 거치지
signal/sigterm/sigint/interrupt/ctrl/shutdown/graceful handl/clean/stop/shutdown/exit/drain/finish/
  graceful : sigterm|sigint|signal.|keyboardinterrupt|trap|graceful|shutdown(|drain|finishes the|
  finish~before|ctrl-c|ctrl+c|in flight|in-flight|shutdowntimeout|terminationgraceperiod|처리 중인|
  마저
signature/서명/webhook/웹훅 verify/verified/검증 : hmac|signature|서명|compare_digest|
  constructevent|401|400
size/upload/body/file/image/request/크기/용량 limit/cap/max/bound/제한/상한/검증 : limits: {|
  filesize:|content_length|maxbytes|bodylimit|client_max_body_size|request_size_limit|
  max_upload_size|10 * 1024|5 * 1024|mb|mib|413|too large|bigger than|larger than|over~refused|
  이하만|넘으면
sleep/wait test/fixed/avoid/not/arbitrary : waitfor|wait_for|wait until|poll|expect.poll|event|
  condition|fake timers|usefaketimers|join(|findby|awaitility
slow/느린 query/log/쿼리/알림 : slow query|log_min_duration|pg_stat|alert|알림
smoke/look/check/open page/after/browser : browser|opened|looked at|curl|200|clicked|visited|
  playwright
snapshot/backup/copy/save/current/저장/백업 before/destructive/change/changing/step/upgrade/delete/
  first/전에/바꾸기 : snapshot|backup|pg_dump|mysqldump|dump|copied|cp|.bak|saved~to|exported|s3|
  restic|etcdctl snapshot|tar|before~made|백업|덤프|내려받아|복사
snapshot/volume/disk/backup take/before/destructive/make : snap-|snapshot|lvcreate|backup|dump|
  copied|image of|restore point
split/smaller/reviewable/large/focused/separate pr/pull/commit/change/request : stacked|three prs|
  two prs|separate pr|separate commit|commit by commit|own commit|split into|first pr|follow-up
  pr~opened|cherry-pick
sql/query/queries/database/statement/쿼리 parameter/bind/bound/inject/concat/interpol/placehold/
  prepared/string/format/user/문자열/바인딩 : %s|$1|:name|bind|parameter|placeholder|prepared|orm|
  sqlalchemy|execute(sql,|, (|, [|no string|no f-string|.filter(|text(|queryrow|바인딩|매개변수|
  파라미터
sql/query/queries/쿼리 inject/parameter/bind/concat/string/interpolat/placeholder/safe/인젝션/
  바인딩 : execute(?|values (?|= ?|= $1|= %s|= :|sqlparameter|preparestatement|preparedstatement|
  bind_param|setstring(|.where(|.filter(|sql`|sql.|$queryraw`|sanitize_sql|queryrow(|named
  parameter|arguments are passed separately|no longer glued|glued together|바인딩|물음표
sql/쿼리/문자열 concat/input/입력/이어 : bind|parameter|placeholder|prepared|%s|$1|orm|바인딩|
  파라미터|매개변수
ssrf/url/fetch/webhook internal/private/metadata/block/allow/validate/내부 : 169.254|is_private|
  127.0.0.1|10.0.0.0|loopback|link-local|resolved address|resolves to|dns|allowlist|internal
  addresses|metadata endpoint|내부 주소|사설
staging/stage/test/preview environment/first/before/production/deploy/try/스테이징 : staging|
  preview|on stage|test environment|sandbox|qa|dry run|스테이징
staging/스테이징 check/verify/test/확인/검증/먼저/run/실행 : on staging|to staging|in staging|
  staging|스테이징
stale/late/old/out/order/overtak/race respons/result/request/answer/reply : abort|latest|
  ignore~older|request id|sequence|cancel|discard|newer|only the last|takelatest|switchmap|stale|
  counter|이전 요청|마지막 요청
stale/late/old/outdated/늦게 response/result/answer/ignore/응답/무시 : abort|request id|latest|
  ignored|discard|cancel|sequence|takelatest|switchmap|무시|취소
stampede/dogpile/expire entry/prevent/cache : single flight|singleflight|lock|jitter|stale|only
  one~recompute|coalesc|early
start/end/시작/끝/실행 time/log/record/시각/시간/기록/남 : took|duration|started|finished|elapsed|
  logged|start~end|시작~종료|걸린|소요
state/url/query/filter/page/tab/상태/필터/페이지 url/share/refresh/reload/back/keep/sync/새로고침/
  유지/공유 : searchparams|usesearchparams|query string|querystring|router.replace|pushstate|
  ?page=|?tab=|url에|주소에|새로고침해도
stop/emergency/estop : emergency|e-stop|estop|stop
stratif : stratif|same proportions
string/strcpi/strcpy/unbounded/functions avoid/unbounded/safe/bounded : snprintf|strlcpy|fgets|
  sizeof|std::string|strncpy|std::span
subprocess/command/process/external/remote/script/request/call/wait/job/run/query time/hang/
  forever/deadline/limit/bound/long/endless/indefinit : timeout|deadline|withtimeout|after~seconds|
  seconds|context.withtimeout|abortsignal|killed after|statement_timeout|wait_for|settimeout|gives
  up|connect_timeout|readtimeout|max-time|타임아웃|제한 시간|초 안에|초 뒤|초가 지나
subprocess/command/process/script exit/status/return/fail/check/code/result : check=true|
  check_call|returncode|set -e|exit code|exit status|calledprocesserror|if err|pipefail|exit 1|$?|
  종료 코드
subprocess/shell/command/exec/명령 inject/list/argument/safe/shell/quote/user/input/인젝션 :
  subprocess.run([|execfile|spawn(|processbuilder|exec.command|shlex.quote|shell=false|
  escapeshellarg|args list|as a list|array of arguments|no shell|배열로
summary/report/answer/description/handover/요약/보고 what/changed/why/test/open/risk/list/explain/
  내용 : what changed|what i did|summary|in short|not done|left open|how to test|known issue|
  remaining|변경 내용|요약|남은 일
"""
