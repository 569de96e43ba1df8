"""Still more ways to tell of what items ask for most.

See `lessons_kb.recall.ways` for how a line is read.
"""

from __future__ import annotations

WAYS = r"""
test/테스트/spec add/write/cover/new/추가/작성/둔다/case/check/확인/verify : def test_|it("|it('|
  test("|test('|describe(|#[test]|func test|@test|[fact]|t.run(|rspec|expect(|assert_|asserts|
  assertthat|covered by|is covered|are covered|specs for|cases for|new cases|two cases|
  three cases|gained a row|gained a case|tests are in|the test feeds|a test sends|
  the test checks|a unit test|an integration test|a fixture|passes with the fix|테스트 두|
  테스트 세|테스트에서|테스트도|단위 테스트|통합 테스트|시험을 추가|케이스를
test/suite/테스트 run/pass/green/whole/full/all/before/after/돌린/실행/통과 : all green|is green|
  are green|stays green|passed|0 failures|0 failed|pytest|npm test|pnpm test|yarn test|go test|
  cargo test|mvn|gradle|dotnet test|rspec|phpunit|make test|tox|nox|ctest|everything passes|
  suite is|tests pass|모두 통과|전부 통과|통과했|돌려 보|돌렸
manual/hand/click/browser/try/device/직접 test/check/verify/확인 : clicked through|tried it|
  tried in|opened the|walked through|by hand|on my phone|on staging|in the browser|with curl|
  curl -|postman|played with|on a real|눌러 보|열어 보|직접 확인|접속해
benchmark/measure/profile/performance/latency/speed/성능/측정 before/after/compare/number/
  improve/prove/전후/비교/수치 : ms to|s to|down from|up from|went from|dropped from|fell from|
  instead of|→|x faster|times faster|twice as fast|per cent|% less|% fewer|was~now|before:|
  after:|p95|p99|ops/sec|req/s|hyperfine|criterion|jmh|pytest-benchmark|k6|autocannon|wrk|
  lighthouse|flame|explain analyze|timeit|에서~로 줄|배 빨라|단축
reproduce/root/cause/diagnose/understand/find/원인/재현 bug/issue/problem/failure/fix/before/
  first/오류/버그/문제 : caused by|the cause|the reason|because|turned out|it was|culprit|
  came from|boiled down to|due to|bisect|reproduced|could trigger|happens when|only when|
  steps to|stack trace|원인은|때문이|재현
plan/step/approach/outline/계획/단계 before/first/split/small/agree/write/먼저 : step 1|
  first step|1.|in three steps|the plan|phases|outlined|agreed on|단계로|순서는
scope/unrelated/other/only/minimal/small change/diff/file/edit/touch/수정/변경/파일 :
  nothing else|no other|only~changed|one file|two files|left alone|left as it|untouched|
  did not touch|didn't touch|separate pr|kept the diff|diff is|lines changed|byte for byte|
  rest~same|다른 파일은|건드리지|그대로 두
commit/message/커밋/메시지 clear/conventional/reason/why/small/atomic/issue/reference/separate/
  이유/단위 : feat(|fix(|feat:|fix:|chore:|refactor:|docs:|closes #|fixes #|refs #|body explains|
  the message says|two commits|three commits|own commit|one commit per|commit -m|커밋을
branch/main/master/push/브랜치 protect/direct/never/feature/review/request/force/pull :
  feature branch|git switch -c|git checkout -b|pull request|merge request|pr #|opened a pr|
  draft pr|force-with-lease|브랜치에서|pr을
secret/env/.env/credential/key commit/ignore/push/git/커밋 : .gitignore|gitignore|.env.example|
  gitleaks|pre-commit|git rm --cached|filter-repo|not in the repo
summary/report/answer/description/handover/요약/보고 what/changed/why/test/open/risk/list/
  explain/내용 : what changed|what i did|summary|in short|not done|left open|how to test|
  known issue|remaining|변경 내용|요약|남은 일
exception/error/예외/오류 handle/catch/specific/broad/narrow/swallow/처리/구체 : except (|
  except valueerror|except keyerror|except oserror|except httpx|except requests|catch (e|
  catch (ioexception|rescue|errors.is|errors.as|match err|instanceof|raise~from|on error|.catch(|
  narrowed|no longer catches|bare except~gone|re-raised|rethrows|구체적
error/message/오류/메시지 helpful/clear/user/actionable/tell/name/which/friendly/안내/명확 :
  names the|tells you|says what|says which|tells the user|what to do next|hint:|did you mean|
  expected|instead of a stack|instead of "|friendly|readable|which row|which field|안내|문구
null/undefined/none/nil/missing/optional/empty/빈/없는 handle/check/guard/safe/crash/처리 : ?.|
  ??|is none|is not none|== null|!= null|optional|if not|if (!|early return|default to|
  falls back|orelse|unwrap_or|some(|getordefault|.get(|len(|no longer crash|no longer panics|
  없으면|비어 있으면
resource/file/connection/handle/socket/stream close/release/free/leak/clean/context/닫/해제 :
  with|using|defer|finally|try (|try-with|.close()|close_all|contextmanager|__exit__|aclosing|
  drop(|ensure|use {|autocloseable|idisposable|arena
input/argument/parameter/mutable default/mutate/copy/side/immutable : = none|copy()|deepcopy|
  structuredclone|spread|{...|[...|tuple|frozen|readonly|const|list(|dict(|clone()
config/setting/value/constant/number/limit/url/hardcod/magic/설정/상수 config/env/name/constant/
  hardcod/move/extract/file/설정/분리 : process.env|os.environ|config.|settings.|const|final|
  static readonly|@value|viper|appsettings|application.yml|named constant|setting called|
  can be set|can be changed|via the env|default of|configurable|설정에서|상수로
duplicate/copy/repeat/중복 code/logic/helper/function/extract/remove/코드/로직/제거 : one helper|
  one function|shared helper|extracted|moved into|both use|both call|all three|three copies|
  now import|single place|in one place|dry|lines fewer|공통|하나로
function/method/component/class/module/file small/long/split/extract/large/break/single/responsib
   : extracted|split into|pulled out|own hook|own component|own module|lines each|down to~lines|
  broke up|smaller|나눴|분리했
public/exported/api/function/interface/공개 document/docstring/type/comment/example/문서 :
  docstring|jsdoc|tsdoc|/**|///|godoc|@param|javadoc|rustdoc|doc comment|documented
import/dependency/cycle/circular/layer/boundary/순환 : type_checking|import type|moved~into|
  interface|inverted|madge|import-linter|eslint-plugin-boundaries|no-restricted-imports|
  dependency-cruiser|lazy import|순환
shell/bash/script/스크립트 safe/strict/quote/error/fail/set/pipefail/안전 : set -e|pipefail|trap|
  "$@"|"${|shellcheck|mktemp|exit 1|$erroractionpreference
subprocess/shell/command/exec/명령 inject/list/argument/safe/shell/quote/user/input/인젝션 :
  subprocess.run([|execfile|spawn(|processbuilder|exec.command|shlex.quote|shell=false|
  escapeshellarg|args list|as a list|array of arguments|no shell|배열로
regex/regular/pattern/정규식 redos/backtrack/anchor/escape/test/bound/limit : re.escape|
  escaperegexp|quote(|\b|fullmatch|re2|possessive|linear|bounded|{1,|timeout
random/token/id/uuid/난수 secure/crypto/predict/guess/unique/안전 : secrets.|crypto.random|
  randombytes|getrandomvalues|securerandom|crypto/rand|uuid4|uuidv7|nanoid|ulid|os.urandom|
  randomuuid|128 bits|32 bytes
encrypt/crypto/암호화 rest/transit/backup/data/disk/key/at/field/백업/데이터 : aes-256|aes-gcm|
  fernet|kms|sse|age|gpg|tls|https|luks|pgcrypto|sealed|libsodium|secretbox|encrypted|암호화
tls/https/certificate/ssl/인증서 verify/renew/expire/redirect/check/disable/갱신/만료 :
  verify=true|verify=false~gone|rejectunauthorized|insecureskipverify|certbot|cert-manager|acme|
  let's encrypt|renews|days before|hsts|strict-transport|ca bundle|만료~전
header/security/csp/보안/헤더 : helmet|content-security-policy|x-frame-options|nosniff|
  strict-transport-security|referrer-policy|permissions-policy|secure_headers|add_header|nonce
csrf/forgery/form/post token/protect/check/방지 : csrf|xsrf|samesite|antiforgery|
  protect_from_forgery|origin header|double submit
ssrf/url/fetch/webhook internal/private/metadata/block/allow/validate/내부 : 169.254|is_private|
  127.0.0.1|10.0.0.0|loopback|link-local|resolved address|resolves to|dns|allowlist|
  internal addresses|metadata endpoint|내부 주소|사설
enumerat/exist/email/account/reveal/가입/존재 response/message/same/differ/login/reset/응답/노출
   : same message|same answer|same response|same status|identical|generic|whether or not|
  regardless|does not tell|doesn't reveal|always 200|constant time|같은 응답|같은 메시지|
  동일한 메시지
audit/감사 log/trail/action/record/who/기록/로그 : audit|who did|actor|performed_by|changed_by|
  papertrail|history table|event log|insert into|감사|누가
personal/pii/user/customer/privacy/개인정보/사용자 delete/erase/anonymi/minimi/export/retention/
  삭제/보관/익명/파기 : anonymi|pseudonym|erased|deleted|purged|nulled|hashed|retention|days|
  gdpr|forget|faker|synthetic|export~json|익명|파기|지웁니다|삭제됩니다|보관
tenant/organisation/organization/workspace/customer isolat/filter/scope/leak/other/separate/check
   : tenant_id|tenantid|org_id|workspace_id|row level security|rls|current_tenant|acts_as_tenant|
  global scope|another tenant|two tenants|other org|404
schema/column/field/table/컬럼/테이블 null/default/constraint/unique/not/check/type/foreign/
  index/제약/기본 : not null|default|unique|check (|references|primary key|foreign key|
  nullable=false|null=false|@column|validates|constraint|on delete|제약
delete/deletion/remove/cascade/orphan/삭제 record/rows/data/child/soft/related/데이터/연관 :
  on delete cascade|cascade|dependent: :destroy|orphanremoval|deleted_at|soft delete|restrict|
  set null|in one transaction|cleaned up|함께 삭제|연관
bulk/batch/chunk/large/huge/many/million/대량/대용량/배치 insert/update/import/process/rows/
  records/query/delete/처리/조회/삽입 : bulk_create|insert_many|executemany|copy|batch_size|
  chunksize|in batches|batches of|find_each|in_batches|chunked(|saveall|insertall|stream|
  iterator|fetchmany|yield|limit 1000|1,000 rows|5,000|rows at a time|건씩|스트리밍|나눠서
connection/pool/database/커넥션 limit/size/leak/reuse/close/timeout/max/풀 : pool_size|
  max_connections|maxpoolsize|hikari|pgbouncer|setmaxopenconns|pool:|max:|idle_timeout|
  pool_pre_ping|one client|shared client|singleton|release()|반납|풀
query/queries/slow/sql/쿼리/느린 plan/explain/index/optimi/improve/check/measure/계획/개선 :
  explain|analyze|seq scan|index scan|rows examined|buffers|query plan|from~ms|ms to|covering|
  composite|rewr|실행 계획
read/replica/primary/lag/consistency stale/write/route/own/separate : using("default")|
  using('default')|primary|replica|read your|sticky|lsn|synchronous|wait for
queue/message/job/event/consumer/큐/메시지/이벤트 ack/commit/lost/lose/after/process/retry/dead/
  poison/order/duplicate/손실/처리 : manual ack|basic_ack|acks_late|enable_auto_commit=false|
  commitsync|commit()|after~is in the database|only after|once~is written|dlq|dead_letter|
  dead letter|redrive|x-dead-letter|maxreceivecount|visibility|nack|requeue|partition key|
  message group|outbox|처리한 뒤|처리가 끝난
external/third/provider/upstream/partner/외부 api/service/call/dependency/호출/서비스 timeout/
  retry/fallback/circuit/fail/down/limit/cache/mock/장애/재시도/제한 : timeout|retry|retries|
  backoff|circuit|breaker|resilience4j|polly|opossum|fallback|cached copy|stale|503|degrade|
  when it is down|is unreachable|if~fails|semaphore|limiter|bulkhead|msw|wiremock|타임아웃|
  재시도|대체
rate/limit/throttle/quota/호출/제한 api/request/endpoint/calls/client/user/요청 : 429|ratelimit|
  rate-limit|@ratelimiter|limiter|throttle|bucket|per minute|per second|per hour|retry-after|
  x-ratelimit|slowapi|upstash|limit_req|sleep(|semaphore|분당|초당
file/write/save/output/파일 atomic/partial/corrupt/crash/half/temp/rename/원자/임시 : os.replace|
  rename(|tempfile|mkstemp|.tmp|.part|fsync|atomicwrite|write-file-atomic|moved into place|
  swapped in|never half|files.move|임시 파일
csv/excel/export/download/내보내기 formula/inject/encoding/bom/quote/large/stream/escape/헤더 :
  utf-8-sig|bom|\ufeff|csv.writer|quoting|quote_all|leading '|apostrophe|stream|chunk|papaparse|
  openpyxl|엑셀
search/filter/검색 empty/escape/debounce/page/index/case/limit/result/빈/결과 : ilike|trigram|
  tsvector|to_tsquery|websearch|lower(|escape|no results|empty|limit|debounce|결과가 없
button/submit/order/click/버튼/제출/주문 double/twice/disable/prevent/duplicate/중복/두/비활성 :
  disabled|ispending|issubmitting|loading|aria-disabled|usetransition|once: true|second click|
  double click|idempotency|비활성|한 번만|두 번 눌
screen/page/list/view/화면/목록 empty/error/loading/state/message/빈/오류/로딩/상태 : skeleton|
  spinner|isloading|suspense|errorboundary|empty|no results|nothing here|fallback=|retry|
  placeholder|빈 상태|안내 문구|없습니다|스켈레톤
mobile/phone/small/responsive/모바일/화면/작은 layout/check/test/screen/break/width/touch/확인/
  레이아웃 : @media|media query|grid|flex-wrap|min-width|max-width|sm:|md:|breakpoint|360|375|
  390|iphone|pixel|viewport|devtools|device mode|container query|모바일에서|좁은 화면
alt/image/이미지/대체/label/button/aria text/텍스트/label/name/레이블/이름 : alt=|alt text|
  aria-label|sr-only|visually hidden|figcaption|대체 텍스트|설명을 넣|라벨
state/url/query/filter/page/tab/상태/필터/페이지 url/share/refresh/reload/back/keep/sync/
  새로고침/유지/공유 : searchparams|usesearchparams|query string|querystring|router.replace|
  pushstate|?page=|?tab=|url에|주소에|새로고침해도
dark/theme/color/colour/다크/테마/색 mode/contrast/token/variable/all/define/모드/대비 :
  prefers-color-scheme|dark:|data-theme|var(--|css variable|tokens|color-scheme|contrast|
  다크 모드|변수로
health/readiness/liveness/probe/헬스/상태 check/endpoint/add/service/container/확인/체크 :
  /healthz|/health|/readyz|/livez|readinessprobe|livenessprobe|startupprobe|healthcheck|
  condition: service_healthy|actuator/health|pg_isready|헬스
resource/memory/cpu/limit/메모리 container/pod/request/limit/set/제한/컨테이너 : limits:|
  requests:|memory:|mem_limit|--memory|cpus:|512mi|256mi|resources:|gomemlimit|-xmx|
  max-old-space|메모리 제한
secret/config/password kubernetes/docker/compose/terraform/helm/ci/workflow/image : secretkeyref|
  external-secrets|sealedsecret|sops|secrets.|docker secret|--mount=type=secret|vault|ssm|
  sensitive = true|env_file|data "aws_secretsmanager
terraform/infra/cloud/resource plan/apply/destroy/protect/state/lock/tag/review/prevent :
  terraform plan|to destroy|no changes|plan shows|plan says|plan -out|prevent_destroy|
  deletion_protection|backend "|dynamodb|use_lockfile|tags = {|default_tags|moved {|import {
network/port/database/service/bucket/server/public/내부/외부 private/internal/expos/restrict/
  public/access/firewall/block/공개/차단 : 127.0.0.1|security_group|cidr|private subnet|
  block_public|internal|not reachable|clusterip|networkpolicy|ufw|firewall|vpc|presigned|
  signed url|public_access|expose only|외부에서 접근|내부에서만
nginx/server/service/systemd/ssh/config/서버/설정 test/reload/validate/syntax/before/backup/
  check/전에/검사 : nginx -t|configtest|sshd -t|visudo|systemd-analyze|reload|--dry-run|
  promtool check|caddy validate|cp~.bak|second session|문법 검사
cron/schedule/job/timer/예약/배치 time/overlap/log/alert/fail/lock/monitor/겹치/실패/시간대 :
  cron.timezone|timezone:|tz=|flock|concurrencypolicy|withoutoverlapping|healthchecks|onfailure=|
  logged|slack|sentry|shedlock|lock|알림|로그
incident/outage/postmortem/장애 timeline/cause/action/communicat/status/customer/update/원인/
  공지/재발 : timeline|root cause|action items|status page|posted|mailed|postmortem|
  customers were|at 09:|at 10:|at 14:|follow-ups|원인|재발|공지
announce/communicate/notify/inform/tell/공지/알린/안내 user/team/customer/maintenance/downtime/
  change/release/사용자/고객/팀/점검/배포 : status page|banner|posted|mailed|e-mailed|slack|
  channel|announcement|changelog|release notes|told|informed|heads-up|subscribers|in-app|공지|
  안내 메일|슬랙|배너
version/upgrade/major/migrate/update/버전 dependency/framework/library/runtime/guide/breaking/
  changelog/test/compat/node/python/업그레이드 : release notes|migration guide|changelog|codemod|
  breaking|deprecat|adapted|call sites|matrix|both versions|engines|requires-python|.nvmrc|
  tested on|릴리스 노트|변경점
cost/budget/bill/비용 limit/alert/estimate/check/reduce/monitor : per month|€|budget|estimate|
  infracost|alert at|cheaper|spot|cost|비용
sleep/wait test/fixed/avoid/not/arbitrary : waitfor|wait_for|wait until|poll|expect.poll|event|
  condition|fake timers|usefaketimers|join(|findby|awaitility
any/cast/ignore/suppress/disable/무시 type/lint/rule/warning/error/타입/오류/덮 : unknown|
  type guard|generic|zod|fixed the|removed the~ignore|no ts-ignore|no any|satisfies|
  properly typed|타입을|타입 가드
global/singleton/static/mutable state/variable/avoid/no : injected|parameter|passed in|context|
  instance|constructor|provider|closure|no module-level
print/console/debug/log/디버그 remove/leave/left/production/제거/남기 : logger.|removed|deleted|
  no console|no print|logging.|log level|tracing|지웠|제거
live/prod/운영 data/test/change/direct/hand/manual/직접 : staging|copy|clone|dump|anonymi|
  migration|dry run|read-only|replica|sandbox|스테이징|복제|스크립트
user/사용자 stack/trace/internal/detail/error/expose/show/노출/내부/오류 : generic|
  something went wrong|500 page|reference|request id|problem+json|logged|sentry|debug=false|
  error page|without details|일반적인|문의 번호
reject/refuse/ignore/deny/block/bounce/거부/거절/차단/막 unknown/stranger/unlisted/sender/
  unauthori/unregister/foreign/allowlist/other/모르는/허용/알 : not in allow|allowed_|allowlist|
  whitelist|stranger|unauthori|403|401|forbidden|is ignored|are ignored|turned away|
  get a refusal|nobody else|anyone else|only~listed|only~may|only known|known~only|허용 목록|
  허용목록|등록되지 않은
"""
