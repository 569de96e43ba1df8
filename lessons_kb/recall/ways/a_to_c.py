"""Topics from a to c, by their first word.

See `lessons_kb.recall.ways` for how a line is read.
"""

from __future__ import annotations

WAYS = r"""
access/production/data/query/shell read/only/limited/audit : read-only|readonly|replica|read
  replica|audited|temporary|default_transaction_read_only|읽기 전용
accessib/a11y/label/name/button/icon/image/form/field/접근성/버튼/이미지 label/name/alt/aria/
  accessible/text/screen/reader/describ/대체/텍스트/낭독 : aria-label=|aria-labelledby|
  aria-describedby|sr-only|visually-hidden|visuallyhidden|<label|htmlfor|alt=|getbyrole|getbylabel|
  accessibilitylabel|contentdescription|semantics(|announced as|announces|axe|voiceover|nvda|
  talkback|caption|대체 텍스트|스크린 리더
ack/확인 message/after/process/메시지/처리 : ack|after~done|acks_late|manual|commitsync|처리가 끝난
agent/bot/command/chat/telegram/slack/discord/봇/명령/채팅 allow/deny/reject/unknown/sender/only/
  confirm/limit/허용/거부 : allowed_|allowlist|from_user|chat.id|chat_id|user_id not in|not in
  allowed|refus|ignored~strangers|stranger|unauthori|only~me|only answers|confirm|/confirm|
  reply_text|are you sure|허용된|거절
agent/tool/command/bot/remote/exec/action approv/confirm/allow/restrict/permission/sandbox/human/
  stranger/unknown/only : allowlist|allowed_|confirm|approval|sandbox|docker|only~commands|human|
  deny|permission|refus|not in~reject|read-only|whitelist|허용|승인
alert/alarm runbook/link/action/owner/noise/threshold : runbook|owner|link|threshold|severity|
  actionable|for:|런북
alert/alarm/monitor/metric/dashboard/notify/알림/경보/지표/모니터링 : prometheus|alertmanager|
  grafana|datadog|cloudwatch|sentry|pagerduty|opsgenie|slack|webhook to|threshold|for:|burn rate|
  gauge|counter|histogram|statsd|otel|panel|synthetic|uptime|healthchecks|pages~on call|on-call|
  mail~when|슬랙|지표
alert/alarm/page test/fire/trigger/verify/prove/actually : fired|test alert|triggered|amtool|
  promtool test|arrived|on purpose|got the page|울렸
alert/alarm/알림/경고 threshold/fail/error/임계/실패/장애 : alert|slack|pager|알림|알람|슬랙|
  메시지를 보|문자|메일
alert/notify/page/somebody/warn/알림/경보/알린 fail/grow/empty/stays/stuck/inactive/old/full/high/
  error/장애/실패/차면/나면 : alert|alarm|pager|slack|mail|paged|prometheus|cloudwatch|opsgenie|
  notif|fires when|threshold|telegram|sentry|슬랙|알림|알람|메일|문자
alt/image/이미지/대체 text/descri/텍스트 : alt=|alt text|aria-label|대체 텍스트|alt
alt/image/이미지/대체/label/button/aria text/텍스트/label/name/레이블/이름 : alt=|alt text|
  aria-label|sr-only|visually hidden|figcaption|대체 텍스트|설명을 넣|라벨
alternative/option name/reject/compare/considered : options|alternatives|compared|considered|
  instead of|rather than|spike
animation/layout/dom/performance/frame read/write/batch/thrash/transform : requestanimationframe|
  transform|will-change|fastdom|batched|measured first|first measure|then write|resizeobserver|60
  fps
announce/communicate/notify/inform/tell/공지/알린/안내 user/team/customer/maintenance/downtime/
  change/release/사용자/고객/팀/점검/배포 : status page|banner|posted|mailed|e-mailed|slack|
  channel|announcement|changelog|release notes|told|informed|heads-up|subscribers|in-app|공지|안내
  메일|슬랙|배너
announce/tell/inform/notify/channel/알린/공지 deploy/release/maintenance/result/배포/점검/결과 :
  posted|slack|channel|mailed|announc|status page|told|webhook|메시지|슬랙|공지|알렸|채널
any/cast/ignore/suppress/disable/무시 type/lint/rule/warning/error/타입/오류/덮 : unknown|type
  guard|generic|zod|fixed the|removed the~ignore|no ts-ignore|no any|satisfies|properly typed|
  타입을|타입 가드
api/endpoint/response/request/field/openapi/swagger/spec document/schema/openapi/contract/describ/
  swagger/updat : openapi|swagger|schema|docs|api.yaml|postman|contract|redoc|spec|명세
api/endpoint/response/status/http/error code/status/correct/4xx/appropriate/proper : 400|401|403|
  404|409|422|429|201|204|status code|problem+json|http status|상태 코드
api/error/response/message/stack/detail internal/leak/stack/trace/expos/generic/reveal/hide/detail/
  users : generic|500|without a stack|request id|logged~only|no stack|correlation|error id|
  debug=false|internal~not|problem|"internal error"|errorhandler|내부~숨
api/external/third/upstream/partner/provider/service/downstream/dependency/외부 fail/down/
  unavailable/fallback/circuit/timeout/slow/degrade/outage/장애 : circuit|fallback|timeout|cached|
  breaker|503|degrade|retry|except|if~down|stale|default|shows~message|resilience4j|폴백|대체|
  타임아웃
api/external/third/upstream/partner/provider/service/downstream/외부 limit/rate/429/quota/throttl/
  retry-after/respect : retry-after|429|rate|limiter|backoff|per second|quota|sleep|throttle|bucket
api/graphql/query/queries depth/complex/cost/nested/limit : depth|complexity|cost|max_depth|
  persisted|limit
api/response/field/json/serializ/model/object/attribute/mass only/expos/explicit/allow/whitelist/
  needed/leak/internal/assign : fields =|serializer|dto|response_model|pick(|only~fields|to_dict|
  explicit|permit|exclude|select(|no longer contain|필드
api/version/field/response/payload/client/contract break/compat/optional/additive/old/existing/
  remove/rename/version : optional|additive|v2|both|old~still|deprecat|unknown fields|new field|
  default|version|backward|existing clients|하위 호환
app/activity/process/screen/background/kill/rotation/rotate/state restor/surviv/save/keep/resum/
  lose : savedinstancestate|viewmodel|remembersaveable|rotat|process death|onsaveinstance|restored|
  scenestorage|statehandle|회전
approv/승인 deploy/production/require : environment:|reviewers|approv|manual gate|when: manual|
  protected|승인
assert/check/count/number query/queries : assertnumqueries|assert_num_queries|query count|queries
  instead|queries (was|django_assert|counts the queries|bullet
async/event/loop/await/coroutine/ui/main/thread/request block/sync/offload/heavy/free : to_thread|
  run_in_executor|asyncio.sleep|httpx.asyncclient|aiohttp|worker|await|non-blocking|nonblocking|off
  the main|background|executor|web worker|spawn_blocking|dispatchers.io|queue|isolate|스레드로|
  워커로|비동기
async/queue/background/비동기/큐 callback/webhook/process/heavy/콜백/처리/넘겨 : queue|enqueue|
  worker|background|delay(|celery|202|job|큐에|워커|비동기
atomic/rename/temp/partial/half/torn file/writ/replac/sav/output/data/config/stat : os.replace|
  os.rename|rename|temp file|temporary file|tmp|.tmp|.part|fsync|mkstemp|atomically|swap|moved into
  place|move~into place|namedtemporaryfile|never half|원자적|임시 파일|교체
attempt/failures/failed/repeated/로그인 lock/account/block/log/제한/잠 : locked|lockout|
  after~attempts|after~failures|429|blocked|throttle|axes|per account|minutes|회 실패|잠급|잠금|
  잠깁
audit/감사 : audit|actor|who~when|history table|append-only|감사|이력
audit/감사 log/trail/action/record/who/기록/로그 : audit|who did|actor|performed_by|changed_by|
  papertrail|history table|event log|insert into|감사|누가
auth/login/endpoint/route/anonymous/unauthentic/public require/protect/guard/need/behind/without/
  401 : 401|login_required|@auth|requireauth|middleware|bearer|depends(|authenticated|logged in|
  logged-in|session|api key|token|isauthenticated|로그인한|인증
auth/permission/access/owner/role/admin/tenant/object/resource/권한/인가 check/verify/enforc/every/
  each/server/require/deny/only/belong/limit/before/scope/restrict/확인/검사 : 403|permission|
  is_owner|owner_id|user_id|current_user|authorize|policy|403 for|404 for|@login_required|
  requires_role|can(|has_perm|belongs to|where tenant|scoped|guard|middleware|isadmin|rls|row
  level|row-level|forbidden|depends(|filter(owner|only~own|only~admin|403을|권한|본인
backfill/migrat/data separate/outside/own/command/job/schema/deploy : outside|management command|
  separate|own job|script|rake task|background|after the deploy|별도
backfill/migrat/import/row/data/copy/transfer/export count/compare/verify/check/match/lost/lose/
  complete/reconcil/건수/누락 : count(*)|rows in|row count|checksum|same number|before and after|
  matches|sum of|diff|identical|rows out|0 missing|reconcil|건수|합계|일치
backfill/migrat/updat/populat/delete/rows/bulk/data batch/chunk/small/limit/pieces/block/load :
  batch|chunk|rows a time|rows at a time|rows per|limit 1000|5,000|1,000|in steps|in_batches|
  find_each|iterator(|bulk_update|sleep between|1000건|건씩|나눠
backoff/jitter/백오프 : backoff|exponential|2 **|jitter|1 s, 2 s|1, 2, 4|doubl|random|
  wait_exponential|grow|1초, 2초|지수
backup/restore/snapshot/dump/백업/복원 before/test/verify/offsite/encrypt/restore/전에/검증/복원 :
  pg_dump|pg_restore|mysqldump|mongodump|restic|borg|snapshot|snap-|rds~snapshot|copied to|came
  back|restored into|row counts match|scratch|checksum|took a|made a copy|.bak|백업|복원
backup/백업 before/first/mak/take/creat/전에/먼저 : backup|snapshot|pg_dump|dump|cp -a|copied|.bak|
  restic|mysqldump|백업|스냅샷
backup/백업 offsite/other/remote/separate/copy/region/encrypt/location/away/암호/외부 : offsite|s3|
  other region|second|b2|remote|encrypted|gpg|different account|rclone|restic|another|외부
backup/백업 test/restor/verify/prove/drill/check/복구/복원 : restored|test restore|restore drill|
  pg_restore|restic check|into a scratch|row count|checksum|came back|verified|boots from|복원|
  복구해
batch/job/import/sync/pipeline/export/process/download/upload/transfer/long resum/restart/
  checkpoint/interrupt/continu/crash/where/이어 : checkpoint|resume|last id|cursor|offset|continue|
  picks up|from where|watermark|high-water|state file|skip~already|range:|이어|체크포인트|중단된
behaviour/behavior/output/refactor chang/same/unchanged/preserv/pure/separat/mix : no behaviour|no
  behavior|same output|pure refactor|byte for byte|identical|unchanged|existing tests|moves only|
  only moves|separate commit|동작~동일|동작은 그대로
benchmark/measure/profile/performance/latency/speed/성능/측정 before/after/compare/number/improve/
  prove/전후/비교/수치 : ms to|s to|down from|up from|went from|dropped from|fell from|instead of|
  →|x faster|times faster|twice as fast|per cent|% less|% fewer|was~now|before:|after:|p95|p99|ops/
  sec|req/s|hyperfine|criterion|jmh|pytest-benchmark|k6|autocannon|wrk|lighthouse|flame|explain
  analyze|timeit|에서~로 줄|배 빨라|단축
bom : utf-8-sig|bom|\ufeff|ef bb bf|0xef
bound/limit/cap input/line/regex : cut at|longer than|{1,|max|truncat|[:|limit
boundary/경계/limit/한계 test/테스트/value/값 : exactly|boundary|edge|max|0 and|min|경계|
  parametrize|one below|one above
branch/default/master rename/old/delete/stale/name : renamed|main|deleted|git branch|references
branch/main/master/push/브랜치 protect/direct/never/feature/review/request/force/pull : feature
  branch|git switch -c|git checkout -b|pull request|merge request|pr #|opened a pr|draft pr|
  force-with-lease|브랜치에서|pr을
browser/safari/firefox/chrome test/check/support/older/cross/all : safari|firefox|chrome|webkit|
  caniuse|polyfill|browserslist|playwright|edge|사파리
browser/safari/firefox/mobile/device/phone test/check/support/fallback/try/verify/확인 : safari|
  firefox|webkit|playwright|browserstack|iphone|ipad|android|pixel|samsung|@supports|polyfill|
  fallback|browserslist|caniuse|old ipad|real device|실기기
buffer/string/array/index/memory bound/overflow/length/size/check/copy/terminat : snprintf|strlcpy|
  sizeof|bounds|length check|fgets|strncpy|.get(|asan|if (len|size_t|memcpy~len|capacity|경계
build/release/deploy/artifact/image/publish tag/version/immutable/sign/once/promot/same : tag|
  digest|signed|cosign|sha|same image|promot|v1|immutable|provenance|태그
bulk/batch/chunk/large/huge/many/million/대량/대용량/배치 insert/update/import/process/rows/
  records/query/delete/처리/조회/삽입 : bulk_create|insert_many|executemany|copy|batch_size|
  chunksize|in batches|batches of|find_each|in_batches|chunked(|saveall|insertall|stream|iterator|
  fetchmany|yield|limit 1000|1,000 rows|5,000|rows at a time|건씩|스트리밍|나눠서
bundle/import/load/module/page/chunk/component/route lazy/split/dynamic/demand/size/budget/small/
  only : lazy|import(|dynamic|code-split|chunk|kb|react.lazy|suspense|budget|size-limit|tree-shak|
  지연
button/submit/order/click/버튼/제출/주문 double/twice/disable/prevent/duplicate/중복/두/비활성 :
  disabled|ispending|issubmitting|loading|aria-disabled|usetransition|once: true|second click|
  double click|idempotency|비활성|한 번만|두 번 눌
cache/caching key/per/tenant/user/locale/separate/vary : key~include|keyed by|cache key|per user|
  per tenant|vary|prefix|namespace|part of the key|키에
cache/caching/memory size/bound/limit/maximum/grow/unbounded : maxsize|lru|max~entries|evict|
  bounded|ttl|limit|최대
cache/caching/캐시 invalid/evict/clear/stale/purg/refresh/expir/ttl/outdated/update/무효/갱신/만료
  : invalidat|evict|ttl|expire|purge|cache.delete|cache.clear|bust|del(|revalidate|max_age|maxsize|
  seconds|minutes|version~key|deleted~key|cache key|forget|무효|만료|지웁
cache/caching/캐시 invalid/expire/ttl/key/stale/bound/evict/무효/만료/키 : ex=|expire(|setex|ttl|
  maxsize|maxage|max-age|s-maxage|revalidate|invalidatequeries|cache.delete|evict|@cacheevict|lru|
  del(|etag|version in the key|part of the key|is dropped when|cleared when|cleared on|forgotten
  when|지워지|무효화
cache/http/header/response/asset cache-control/browser/cdn/immutable/store/private : cache-control|
  no-store|immutable|max-age|private|etag|hash in the|contenthash|vary|s-maxage
cache/캐시 key/키 user/identifier/lock/hash/사용자/식별자/해시/include/포함 : user_id|user id|
  hashfiles|key:|keyed by|cache key|per user|키에|hash of|lock file|사용자 id
call/usages/import/refer updat/adjust/chang/fix/migrat/all/every : all callers|call sites|every
  caller|callers|imports~updated|usages|updated~places|files changed|grep|no references|
  references~updated|find and replace|codemod|호출부|참조를 모두
cancel/abort/context propagat/pass/respect/support/on/leave/unmount/stop : ctx|context|signal|
  cancel|abort|stops when|asyncio.cancellederror|pass~on|handed on|취소
cancel/abort/stale/in-flight/outdated/취소 request/search/fetch/response/task/요청/응답/검색 :
  abortcontroller|signal:|.abort()|takelatest|switchmap|cancelled|cancelqueries|usequery|ignore =
  true|ignored flag|older~dropped|late~ignored|previous~aborted|context.cancel|ctx.done|job.cancel|
  이전 요청
cdn/static/asset/browser/file hash/finger/cache/immutable/bust/header : [contenthash]|hash|
  immutable|max-age|cache-control|etag|fingerprint|version|s-maxage|purge|해시
changelog/changeset/release/notes/version/semver/breaking/migration/변경 entry/note/add/write/bump/
  major/guide/describe/이력 : changelog|.changeset|changeset|unreleased|release notes|migrating|
  upgrading.md|migration guide|semver|major|2.0.0|3.0.0|breaking change|feat!|bump|news/|towncrier|
  변경 이력
changelog/이력/changes.md : changelog|release notes|unreleased|news fragment|changes.md|history.md|
  towncrier|changeset|변경 이력|변경이력|체인지로그
checksum/hash/signature/integrity/verify download/binary/binaries/file/wrapper/distribution/
  archive/artifact/release : sha256|checksum|shasum|gpg --verify|cosign|integrity=|
  distributionsha256sum|minisign|-c
ci/pipeline depend/cache/types/missing/keys/boundar/run/check/검사/캐시/돌린 : workflow|.github|ci|
  job|step|actions/cache|pipeline|gitlab|import-linter|required|ci에
ci/pipeline/deploy/release/build/test green/before/after/wait/pass/gate/red : green|passed|needs:|
  required|waits for|gates|only after|all checks|CI 통과|통과한 뒤
ci/pipeline/workflow/action/github pin/sha/version/hash/commit/third : @v4|@sha|pinned|commit sha|
  full sha|digest|dependabot|uses:
ci/pipeline/workflow/action/github/job run/test/lint/check/every/each/push/pull/fail/gate/block :
  .github/workflows|on: pull_request|workflow|pipeline|gitlab-ci|job|required check|- run:|
  circleci|jenkinsfile|runs on every|in ci|azure-pipelines|ci에서
ci/pipeline/workflow/action/token/job permission/least/read/minimal/scope : permissions:|contents:
  read|read-only|id-token|oidc|least
ci/pipeline/workflow/build/job cache/fast/speed/time/parallel/slow/shard : cache|actions/cache|
  matrix|shard|parallel|minutes|from~to|--filter|turbo|restore-keys|분에서
ci/pipeline/workflow/github/gitlab check/test/lint/type/build/block/fail/matrix/cache/run/required
  : .github/workflows|- run:|runs-on|matrix|needs:|required check|on: pull_request|jobs:|
  gitlab-ci.yml|--frozen-lockfile|npm ci|--max-warnings|--check|exits 1|blocks the merge|can't be
  merged|fails the build|turns red|actions/cache|concurrency
ci/pipeline/workflow/job/build secret/fork/log/untrusted/pull_request_target/oidc : secrets.|
  pull_request_target|oidc|masked|add-mask|environment|forks|id-token
circuit/breaker : circuit|breaker|opens after|half-open|resilience4j|pybreaker|opossum|polly
cli/command/option/flag/argument/subcommand help/document/usage/descri : --help|help text|help=|
  usage|argparse|click|typer|man page|docs|clap|도움말
cli/command/stdout/stderr/output separat/stream/error/machin/pipe/json/diagnost : stderr|
  file=sys.stderr|>&2|--json|eprintln|console.error|stdout only|표준 오류
clock/time/now/date test/freez/inject/fixed/fake/control/mock : freezegun|freeze_time|fake clock|
  usefaketimers|setsystemtime|clock|time machine|time-machine|passed in|injected|fixed date|시계|
  시간을 고정
clone/copy/alloc hot/loop/avoid/reduc/unnecess : borrow|&str|reserve|with_capacity|reuse|
  preallocat|pool|no clone|without copying|slice|in place|sync.pool|복사 없이
close/releas/dispos/free/leak/clean file/handle/connect/resource/socket/cursor/descriptor/stream/
  session : with|defer|finally|using|try-with|close()|.close|context manager|raii|drop|dispose|
  closed|released|returned to the pool|contextlib|aclose|await using|닫|반납|해제
cloud/bucket/storage/s3/database/port/service/network/security/firewall public/private/open/expos/
  restrict/internet/block/access : block public|private|security group|vpc|127.0.0.1|0.0.0.0/
  0~gone|cidr|firewall|ufw|internal|bind|signed url|presigned|acl|not public|비공개|내부망
cloud/iam/role/policy/permission/service/account least/minimal/narrow/wildcard/only/scope/specific
  : least|only~bucket|arn:|s3:getobject|no wildcard|"*"~gone|read-only|scoped|own role|policy|최소
  권한
cloud/resource/cost/budget/spend/expens tag/cost/alert/budget/estimate/limit/cheap : tag|budget|
  alert|per month|€|infracost|estimate|owner=|shut down|spot|autoscal|비용
comment code/remov/out/leftover : removed|deleted|gone|git history|no commented|주석 처리된
comment/blank/header line/row/skip/ignore : startswith|start_with|skips|ignores|comment=
commit split/small/separate/atomic/reviewable/logical/one/mix/size : commits|separate commit|own
  commit|one commit|split|two commits|three commits|commit by commit|stacked|git add -p|커밋을 나
commit/message conventional/why/reason/explain/break/reference/issue/format/prefix : feat|fix:|
  fix(|breaking change|why|refs|closes #|because|body|chore|conventional
commit/message/커밋/메시지 clear/conventional/reason/why/small/atomic/issue/reference/separate/
  이유/단위 : feat(|fix(|feat:|fix:|chore:|refactor:|docs:|closes #|fixes #|refs #|body explains|
  the message says|two commits|three commits|own commit|one commit per|commit -m|커밋을
commit/커밋 : commit|git|squash|feat|fix(|fix:|pushed|커밋
component/effect/listener/subscription/timer/interval/observer/handler/unmount clean/remov/
  unsubscrib/clear/leak/unmount/stop/destroy : return () =>|removeeventlistener|clearinterval|
  cleartimeout|unsubscribe|abort|cleanup|ondestroy|onunmounted|disconnect(|ondispose|takeuntil|
  dispose|정리|해제
concurr/동시성/동시 test/lock/safe/테스트/잠금/안전 : lock|for update|threads|executor|latch|
  동시에|잠금|락|mutex|redisson|advisory|synchronized|@version|낙관
concurren/race/lost/simultan/parallel/동시/경쟁 update/write/request/stock/balance/counter/order/
  수정/요청/재고 : for update|select_for_update|with_for_update|lock_version|@version|rowversion|
  if-match|optimistic|compareandset|atomic|incrby|f("|f('|update~set~where|where version|
  advisory_lock|pg_advisory|mutex|synchronized|serializable|unique constraint|conflict|409|행 잠금|
  낙관적
confidence/interval/spread/deviation/variance report/mean/fold/several : ±|+/-|std|bootstrap|
  confidence|interval|deviation|per fold|min and max|quartile
config/setting/env/variabl/option valid/check/start/fail/early/miss/required/fast : at start|
  startup|on boot|exits~missing|fails fast|pydantic|basesettings|envalid|zod|required|
  raises~missing|schema|refuses to start|시작할 때|기동 시
config/setting/option/flag/env default/document/example/readm/list/sampl : .env.example|readme|
  documented|default|example|docs|table of|sample|commented|기본값|문서
config/setting/value/constant/number/limit/url/hardcod/magic/설정/상수 config/env/name/constant/
  hardcod/move/extract/file/설정/분리 : process.env|os.environ|config.|settings.|const|final|static
  readonly|@value|viper|appsettings|application.yml|named constant|setting called|can be set|can be
  changed|via the env|default of|configurable|설정에서|상수로
config/setting/설정 effective/print/read/from/configurable/make/file/variable/파일/뺀다 : config|
  settings|env|yaml|toml|flag|option|getenv|parameter|--print-config|properties|설정 파일|설정으로|
  환경 변수
config/설정/환경 file/env/파일/변수/code/뺀 : yaml|toml|.env|getenv|process.env|application.yml|
  설정 파일|환경 변수|properties|config
connect/pool/database/커넥션 pool/size/limit/clos/releas/reus/exhaust/leak/return/풀 : pool|
  max_connections|pgbouncer|with~connect|close()|maxopenconns|setmaxopen|hikari|idle|max:|
  release()|커넥션 풀
connection/pool/database/커넥션 limit/size/leak/reuse/close/timeout/max/풀 : pool_size|
  max_connections|maxpoolsize|hikari|pgbouncer|setmaxopenconns|pool:|max:|idle_timeout|
  pool_pre_ping|one client|shared client|singleton|release()|반납|풀
consent/동의 record/before/ask/first/cookie/analytics : consent|asks|dialog|permission|banner|
  opt-in|agreed|동의
constant/timing/상수 time/시간/compare/comparison : compare_digest|timingsafeequal|constant time|
  constant-time|hmac.equal|secure_compare|subtle.|상수 시간
contract/consumer/provider test/verif/fake : pact|contract test|schemathesis|recorded~against|
  provider~verif|dredd|spring cloud contract
contrast/colour/color/dark/theme/readable : contrast|4.5:1|4.5|aa|prefers-color-scheme|var(--|
  tokens|darker|axe|both themes|oklch
conver : converted|conversion
coordinator/scheduler/replica/instance/leader one/only/single/once : leader|lock|advisory|replicas:
  1|singleton|lease|election|only~runs|redlock|zookeeper|etcd
cors/origin allow/wildcard/exact/restrict/list/star/credential/specific/compare : allowed_origins|
  allow_origins|exact|allowlist|origin in|vary|no wildcard|"*"~gone|access-control-allow-origin|
  list of origins|허용 목록
cors/origin/출처 allow/restrict/list/known/exact/wildcard/허용 : allowed_origins|allow_origins=[|
  origin: [|corsoptions|setallowedorigins|allowlist|exact match|no longer "*"|instead of "*"|
  instead of *|vary: origin|only~origins|our two origins
cost/budget/bill/비용 limit/alert/estimate/check/reduce/monitor : per month|€|budget|estimate|
  infracost|alert at|cheaper|spot|cost|비용
count/increment/total/aggregate/view race/atomic/lost/concurren/exact : f('|incr|atomic|set~=~+ 1|
  update~set|$inc|fetch_add|returning|counter + 1|원자
credentials/session/cookie/token url/query/log/referrer : header|authorization|fragment|post body|
  cookie
cron/schedule/job/timer/예약/배치 time/overlap/log/alert/fail/lock/monitor/겹치/실패/시간대 :
  cron.timezone|timezone:|tz=|flock|concurrencypolicy|withoutoverlapping|healthchecks|onfailure=|
  logged|slack|sentry|shedlock|lock|알림|로그
cross/platform/windows/mac/linux/os/python/node/browser/version matrix/test/run/support/check :
  matrix|windows|macos|ubuntu|3.9|3.12|node 18|tox|nox|both|runs-on|각 버전
csrf : csrf|xsrf|samesite|forgery
csrf/forgery/form/post token/protect/check/방지 : csrf|xsrf|samesite|antiforgery|
  protect_from_forgery|origin header|double submit
csv/excel/export/download/내보내기 formula/inject/encoding/bom/quote/large/stream/escape/헤더 :
  utf-8-sig|bom|\ufeff|csv.writer|quoting|quote_all|leading '|apostrophe|stream|chunk|papaparse|
  openpyxl|엑셀
csv/tsv/delimiter/spreadsheet/excel quot/parse/module/librar/inject/formula/delimiter/encoding :
  csv.|csv module|papaparse|delimiter|quot|sniff|utf-8-sig|bom|escap|leading apostrophe|pandas|=,
  +|formula|univocity
cursor/deleted/selection/caret/undo handle/assert/keep/position : cursor|selection|caret|restores|
  position|range
customer/patient/user/group fold/split/cross : by customer|by patient|group
"""
