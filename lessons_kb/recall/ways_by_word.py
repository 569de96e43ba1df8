"""Topics that one word makes, and pairs of many fields.

See `lessons_kb.recall.ways` for how a line is read.
"""

from __future__ import annotations

WAYS = r"""
test/spec/regression/테스트/시험 : test_|_test.|.test.|.spec.|spec/|added a test|new test|a test|
  tests|two cases|new case|case for|covered by|covers|pytest|jest|vitest|rspec|go test|
  cargo test|junit|phpunit|it('|describe(|assert|expect(|specs|test pass|tested with|
  checked with a test|xunit|mocha|테스트를 추가|테스트 추가|테스트를 작성|테스트로|테스트 케이스|
  테스트가 통과|테스트도
fuzz : fuzz|afl|libfuzzer|hypothesis|go test -fuzz|executions|corpus
sanitizer/asan/addresssanitizer/valgrind/miri : asan|ubsan|tsan|-fsanitize|sanitizer|valgrind|
  miri
property/hypothesis/round : hypothesis|quickcheck|fast-check|proptest|property|random input|
  round trip|roundtrip|round-trip
golden/snapshot/approval : golden|snapshot|approved|expected output|tests/golden|__snapshots__
regression/replicate/repro/재현/회귀 : repro|failing test|fails without|red before|test_issue|
  issue_|test for the bug|regression|with the same input|could trigger|재현|회귀
changelog/이력/changes.md : changelog|release notes|unreleased|news fragment|changes.md|
  history.md|towncrier|changeset|변경 이력|변경이력|체인지로그
runbook/playbook/런북 : runbook|playbook|docs/ops|wiki|steps|procedure|how to|런북|절차
readme/문서/docs/documentation : readme|docs/|documented|doc page|guide|wiki|section|docstring|
  man page|runbook|문서|안내|위키|explains how
commit/커밋 : commit|git|squash|feat|fix(|fix:|pushed|커밋
hotfix/cherry/backport : cherry-pick|backport|release branch|-x
stop/emergency/estop : emergency|e-stop|estop|stop
screenshot/스크린샷 : screenshot|before and after|picture|attached|png|캡처|스크린샷
licence/license/라이선스 : licence|license|mit|apache|bsd|gpl|notice|spdx|라이선스
dry/preview/미리보기 : dry run|dry-run|--dry|preview|would be|would have|-n|simulat|what-if|
  lists what|terraform plan|미리보기|시험 실행
audit/감사 : audit|actor|who~when|history table|append-only|감사|이력
debounce/디바운스 : debounc|settimeout|ms after|300 ms|250 ms|200 ms|cleartimeout|after typing|
  pause in typing|밀리초|입력이 멈|디바운스
throttl : throttl|requestanimationframe|per second|per frame|limiter|at most~per|rate limit|
  semaphore|p-limit|bottleneck|leaky
csrf : csrf|xsrf|samesite|forgery
virtualiz/virtualis/가상화 : virtual|react-window|tanstack|fixedsizelist|windowing|visible rows|
  recycler|가상
circuit/breaker : circuit|breaker|opens after|half-open|resilience4j|pybreaker|opossum|polly
idempoten/멱등 : idempot|again~nothing|twice|second run|same result|no duplicates|on conflict|
  if not exists|upsert|already|rerun|skips|safe to re|두 번~같|다시 돌려도|한 번만|중복
backoff/jitter/백오프 : backoff|exponential|2 **|jitter|1 s, 2 s|1, 2, 4|doubl|random|
  wait_exponential|grow|1초, 2초|지수
deadline/timeout/time-out/타임아웃 : timeout|deadline|after~seconds|seconds|withtimeout|
  abortsignal|gives up after|statement_timeout|wait_for|socket_timeout|read_timeout|max-time|
  초 뒤|초 안에|초가 지나|타임아웃|제한 시간
heartbeat/dead-man/deadman/watchdog : heartbeat|ping|healthchecks|watchdog|no ping|dead man|
  keepalive
isolation/serializable : serializable|isolation|repeatable|read committed|for update
formula : =, +|leading apostrophe|apostrophe|prefixed|formula|csv injection|tab character|'='
bom : utf-8-sig|bom|\ufeff|ef bb bf|0xef
seed/시드 : seed|random_state|manual_seed|default_rng|rng|random.seed|srand|시드
stratif : stratif|same proportions
safari/사파리 : safari|webkit|iphone|ios|browserstack|사파리
reader/voiceover/낭독 : voiceover|nvda|talkback|jaws|orca|screen reader|aria-live|role=|announc|
  read out|낭독
locale/로케일 : intl.|locale|tolocale|formatmessage|babel|numberformat|datetimeformat|로케일|
  ko-kr
plural : plural|icu|ngettext|one {|other {|intl.pluralrules|count,
onboarding : onboarding|tour|first run
phony : .phony|phony
conver : converted|conversion
constant/timing/상수 time/시간/compare/comparison : compare_digest|timingsafeequal|constant time|
  constant-time|hmac.equal|secure_compare|subtle.|상수 시간
root/루트/비루트 container/run/user/컨테이너/실행/unprivileged : user app|user node|user 1000|
  user nonroot|nonroot|runasnonroot|adduser|useradd|distroless|--user|일반 사용자|user www|
  uid 1000|rootless
staging/스테이징 check/verify/test/확인/검증/먼저/run/실행 : on staging|to staging|in staging|
  staging|스테이징
test/테스트 parallel/병렬 : --parallel|-n auto|xdist|shard|workers|jobs|병렬|t.parallel
input/입력/사용자/body/payload valid/server/검증/서버 : @valid|@notnull|@min|@size|validator|
  bean validation|joi|zod|pydantic|400|ge=|le=|constr|field(|스키마|유효성
error/message/오류/메시지 which/field/어떤/필드/clear/name : which field|per field|names the|
  어느 필드|필드별|path:|loc
personal/pii/개인정보 log/로그 : redact|mask|hash|주민|가립|가렸|마스킹|filter_parameters|scrub|
  정규식으로
old/stale/expired/오래된/만료된/지난 delete/purge/remove/archive/periodically/삭제/정리/주기적 :
  cron|daily|every night|partition|older than|retention|ttl|lifecycle|pg_cron|지난|매일|매월|
  지웁|삭제|떼어
rename/name/이름/예전/path old/former/이전/예전/support/working/지원/import : alias|re-export|
  deprecat|warning|legacy|still accept|both names|fallback|old name|shim|예전 이름도|경고
plan/index/실행/인덱스 explain/use/check/확인/사용/계획 : explain|index scan|seq scan|plan|
  인덱스 스캔|실행 계획|range scan
expire/expiry/ttl/만료 cache/entry/item/캐시/항목/time/시간 : ttl|expires_in|max_age|ex=|minutes|
  seconds|expire(|setex|지나면|분 뒤|만료
number/truncate/cut/limit/reply/message/text length/limit/characters/long : [:|cut at|characters|
  truncat|4096|4,000|slice(|substring|split
hit/rate/cache measure/watch/before/after/monitor : hit rate|hits went|% hits|히트율|from~to|
  hit ratio
wait/long/retry tell/client : retry-after|seconds left|try again in|x-ratelimit-reset
smoke/look/check/open page/after/browser : browser|opened|looked at|curl|200|clicked|visited|
  playwright
external/format/real/api/tool verify/real/memory/against/check : called|real|sandbox|accept it|
  against the|tried|curl|live
independent/isolate/own/leftover/order test/file/folder : mkdtemp|tmp_path|tempfile|each~own|
  fixture|random order|-p randomly|--shuffle|rolled back|fresh database|transaction per|isolated|
  beforeeach
round/반올림 rule/state/explicit/규칙/명시 : half_even|half-even|half_up|half up|rounding=|
  bankers|quantize|문서에|반올림
total/amount compare/match/check/equal/add/sum : match|by hand|equal|adds up|compared|identical|
  sum
dead/poison test/path/try : sent one|broken message|arrive|dlq|dead letter|deadletter
remote/service/api/lookup/query/call message/each/per/once/loop/never : cache|batch|bulk|
  one call|in one|prefetch
host/server/every same/every/all/apply : all hosts|on every|--tags|ansible|both|each host
bound/limit/cap input/line/regex : cut at|longer than|{1,|max|truncat|[:|limit
downgrade/version/older refuse/reject/prevent : min_version|backwards|anti-rollback|
  older version|version counter|rejects
previous/last/old slot/version/data/good/image fall/keep/boot/load/fail : returns to|previous|
  swap|rename|yesterday|stays|a/b|kept|last good|rolled back
interrupt/handler/isr short/quick/minimal : sets a flag|only sets|main loop|ring buffer|deferred|
  queue|bottom half|tasklet
frame/fps/rates/speed test/movement : 30, 60|60 fps|144|fps|time.deltatime|fixedupdate|fixed step
long-lived/token/credential publish/without/ci/deploy : trusted publishing|oidc|id-token: write|
  workload identity|short-lived|federat
import/reference update/all/every/fix : all~imports|imports|knip|sed|codemod|renamed in
jump/shift/layout image/reserve/이미지/레이아웃 : width and height|width=|height=|aspect-ratio|
  min-height|nothing jumps|cls
race/stampede/expire cache/entry : race_condition_ttl|lock|single|stale|jitter|early
alternative/option name/reject/compare/considered : options|alternatives|compared|considered|
  instead of|rather than|spike
string/strcpi/strcpy/unbounded/functions avoid/unbounded/safe/bounded : snprintf|strlcpy|fgets|
  sizeof|std::string|strncpy|std::span
dependency/dependencies/package/library avoid/new/trivial/add/no/without : no other dep|
  no new dep|stdlib|standard library|removed~package.json|built-in|vendored|wrote~lines|
  no dependency
4xx/client/only/retry/permanent never/only/timeouts/5xx/errors : final|not retried|only~retried|
  5xx|client errors|retryable|raise_for_status|giveup
hmac/signature/body raw/bytes/before/parsing : get_data()|raw|request.body|rawbody|bytes|
  req.text()|before~json
comment/blank/header line/row/skip/ignore : startswith|start_with|skips|ignores|comment=
redact/mask test/verify/check : asterisks|fake card|***|redacted|not in caplog|assert~not in
customer/patient/user/group fold/split/cross : by customer|by patient|group
load/stress/deadlock/race reproduce/before/after/fix : pgbench|minutes|hammer|stress|k6|loop|
  times|none in
personal/private/account/page cache/shared : private|no-store|cache-control|vary|bypass
id/request/trace/correlation log/line/every/record : x-request-id|req|request_id|contextvar|
  trace_id|mdc|correlation|요청 id
empty/zero/blank file/input/handle/case : zero-byte|zero byte|empty|blank|header only|no rows|
  0 rows
default missing/configuration/value/provide : falls back to|default|getenv(|or default|
  without~no longer|??|unless set
role/iam/assume/trust limit/who/restrict : trusts only|principal|oidc|sub|condition|aws:sourcearn
test/try/review/change hand/manual/describe/how : how to try|how to test|steps|start|open|click|
  test plan|to reproduce
valid/logic/code duplicate/rid/copies : one~value object|copies~deleted|shared|extracted|
  one place|single|dedup
progress/long/operation show/feedback : prints a bar|spinner|eta|indicatif|tqdm|percent|
  line every|progress
directory/listing/version/banner/header server/disable/hide/nginx : autoindex off|
  server_tokens off|options -indexes|expose_php|x-powered-by|fingerprint
enum/state/status prefer/free/string : enum|literal|union type|check (|sealed|values now|
  type~with
workaround/hack/pin/why document/explain/comment/needed : explains|see|because|until|remove when|
  remove once|upstream issue
ratelimit/rate-limit/limit/vendor/quota header/honour/honor/respect : x-ratelimit|retry-after|
  remaining|sleep until|reset
follow-up/followup/remaining/open point/summary/name/list/mention : opened #|not in this pr|
  left for|follow-up|still to|todo:|later:|남은
snapshot/volume/disk/backup take/before/destructive/make : snap-|snapshot|lvcreate|backup|dump|
  copied|image of|restore point
credentials/session/cookie/token url/query/log/referrer : header|authorization|fragment|
  post body|cookie
signature/서명/webhook/웹훅 verify/verified/검증 : hmac|signature|서명|compare_digest|
  constructevent|401|400
queue/job/task/작업/큐 retry/fail/dead/재시도/실패 : retries|max_retries|backoff|dead|failed|
  재시도|횟수
memory/oom/메모리 stream/batch/chunk/large/대용량/나눠 : stream|chunk|iter|batch|generator|
  fetchmany|나눠|스트림
unicode/유니코드/nfc normal/정규화/compare/비교 : nfc|normalize|nfkc|casefold|정규화
boundary/경계/limit/한계 test/테스트/value/값 : exactly|boundary|edge|max|0 and|min|경계|
  parametrize|one below|one above
sensitive/민감/secret/fields list/place/목록/곳/한 : sensitive =|one list|central|settings|민감|
  SENSITIVE
alert/alarm/알림/경고 threshold/fail/error/임계/실패/장애 : alert|slack|pager|알림|알람|슬랙|
  메시지를 보|문자|메일
config/설정/환경 file/env/파일/변수/code/뺀 : yaml|toml|.env|getenv|process.env|application.yml|
  설정 파일|환경 변수|properties|config
concurr/동시성/동시 test/lock/safe/테스트/잠금/안전 : lock|for update|threads|executor|latch|
  동시에|잠금|락|mutex|redisson|advisory|synchronized|@version|낙관
transaction/트랜잭션 external/api/http/call/outside/외부/호출/안에서 : after commit|outside|
  aftercommit|@transactionaleventlistener|before the transaction|outbox|커밋 후|커밋한 뒤|
  트랜잭션 밖
retry/재시도 backoff/백오프/external/외부/api : retry|tenacity|backoff|resilience4j|@retryable|
  attempts|세 번|재시도|지수|초 간격
document/문서 change/변경/update/반영/api/사항 : readme|docs|openapi|wiki|changelog|문서|위키|
  스웨거|안내
rollback/롤백/restore/복구/복원 test/try/시험/procedure/절차/실제 : rolled back|restored|tried|
  drill|downgrade|back and forth|되돌려|복원해|롤백해|시험
permission/권한/role/auth check/denied/확인/검사/없는/인가 : 403|401|forbidden|@preauthorize|
  hasrole|policy|권한|isowner|guard
index/인덱스 foreign/외래/key/column/키 : index|create index|idx_|db_index|인덱스
time/시간대/시각 utc/kst/store/저장/zone/표시/명시 : utc|timestamptz|zoneinfo|zoneddatetime|
  offset|kst|at time zone|시간대|타임존
error/exception/예외/오류 log/record/기록/로그/남긴/handle/처리 : logger.error|log.error|
  exc_info|logger.exception|sentry|로그|기록|catch
memory/leak/listener/timer/구독/해제/정리 clean/clear/release/unmount : removeeventlistener|
  clearinterval|unsubscribe|return () =>|dispose|해제|정리
pagination/페이지/페이지네이션/cursor list/목록/api/endpoint/나눈/둔다 : limit|offset|cursor|
  after|next|page|size=|페이지|커서
label/대체/aria/alt/텍스트 image/button/이미지/버튼/접근성/icon : aria-label|alt=|대체 텍스트|
  레이블|labelled
review/approve/승인/리뷰 merge/before/병합/전에/deploy/배포 : approved|lgtm|reviewed|
  pull request|승인|리뷰
"""
