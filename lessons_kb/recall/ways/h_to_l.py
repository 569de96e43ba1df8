"""Topics from h to l, by their first word.

See `lessons_kb.recall.ways` for how a line is read.
"""

from __future__ import annotations

WAYS = r"""
header/security/csp/보안/헤더 : helmet|content-security-policy|x-frame-options|nosniff|
  strict-transport-security|referrer-policy|permissions-policy|secure_headers|add_header|nonce
health/readiness/liveness/probe/헬스/상태 check/endpoint/add/service/container/확인/체크 : /
  healthz|/health|/readyz|/livez|readinessprobe|livenessprobe|startupprobe|healthcheck|condition:
  service_healthy|actuator/health|pg_isready|헬스
heartbeat/dead-man/deadman/watchdog : heartbeat|ping|healthchecks|watchdog|no ping|dead man|
  keepalive
hide/expired/숨긴/만료된/만료 list/coupon/목록/쿠폰 : filter|where~>|expires|excluded|hidden|숨|
  제외|만료
hit/rate/cache measure/watch/before/after/monitor : hit rate|hits went|% hits|히트율|from~to|hit
  ratio
hmac/signature/body raw/bytes/before/parsing : get_data()|raw|request.body|rawbody|bytes|
  req.text()|before~json
host/server/every same/every/all/apply : all hosts|on every|--tags|ansible|both|each host
hotfix/cherry/backport : cherry-pick|backport|release branch|-x
html/markup/markdown/user/content/comment/text/output/사용자/입력 escap/sanit/xss/clean/purify/
  render/raw/정화/이스케이프 : dompurify|sanitize-html|sanitize(|bleach.clean|nh3|textcontent|
  createtextnode|markupsafe|escape(|escapehtml|html.escape|htmlspecialchars|{{|v-text|safe
  filter~removed|rehype-sanitize|no dangerouslysetinnerhtml|onerror|script tag|&lt;|shows up as
  text|as plain text|정화|텍스트로
html/output/user/content/markdown/comment/text/template/name/xss escap/sanit/encod/raw/xss/
  dangerous/unsafe/innerhtml/inject/script : textcontent|dompurify|escape(|autoescape|sanitize|
  bleach|htmlspecialchars|no innerhtml|dangerouslysetinnerhtml~gone|escaped|{{|innertext|nh3|h()|
  html.escape|markupsafe|<script>|&lt;|이스케이프|태그를
id/key/uuid/sequence guess/expos/random/uuid/sequential/public/collision : uuid|ulid|nanoid|random|
  secrets.token|opaque|public_id|hashid|무작위
id/request/trace/correlation log/line/every/record : x-request-id|req|request_id|contextvar|
  trace_id|mdc|correlation|요청 id
idempoten/duplicate/twice/repeat/double/redeliver/중복/멱등 event/webhook/request/order/payment/
  message/job/mail/handler/consumer/이벤트/결제/주문 : on conflict do nothing|insert ignore|insert
  or ignore|upsert|idempotency-key|idempotency_key|processed_events|event_id|already handled|
  already processed|seen before|skip the rest|second delivery|second one|delivered twice|sent
  twice|does nothing the second|unique~event|unique index|setnx|set nx|exists_by|findunique|once
  per|no second|두 번째|이미 처리
idempoten/멱등 : idempot|again~nothing|twice|second run|same result|no duplicates|on conflict|if
  not exists|upsert|already|rerun|skips|safe to re|두 번~같|다시 돌려도|한 번만|중복
image/picture/layout/shift/cls/ad/font dimension/width/height/reserve/shift/space/jump/size/ratio :
  width=|height=|aspect-ratio|reserved|cls|skeleton|min-height|placeholder|font-display|layout
  shift|자리
image/picture/이미지 dimension/width/height/layout/shift/responsive/lazy/format/optimi : height={|
  width=|aspect-ratio|srcset|sizes=|next/image|webp|avif|loading="lazy"|fetchpriority|cls|
  placeholder=|decoding="async"|jump
import/dependency/cycle/circular/layer/boundary/순환 : type_checking|import type|moved~into|
  interface|inverted|madge|import-linter|eslint-plugin-boundaries|no-restricted-imports|
  dependency-cruiser|lazy import|순환
import/export/csv/upload/row/가져오기/행 bad/invalid/error/report/skip/preview/encoding/large/
  stream/validate/오류/검증 : line number|row number|errors.csv|rejected rows|skipped~rows|listed|
  per row|preview|dry run|utf-8|bom|papaparse|csv-parse|streams|chunks|batch|transaction|rows in|
  rows out|summary|건 실패|행 번호
import/reference update/all/every/fix : all~imports|imports|knip|sed|codemod|renamed in
import/row/record/line/data/feed/file bad/broken/invalid/skip/report/reject/collect/fail/
  quarantine/log : skipped|collected|reported|rejected|errors.csv|line number|dead letter|
  quarantine|logged|summary|listed|rejects|invalid rows|bad rows|row number|건너뛴|오류 목록
incident/outage/breach customer/inform/notif/status/affected/communicat/tell/users : status page|
  mailed|told|informed|notified|customers|posted|support|statuspage|공지
incident/outage/postmortem/장애 timeline/cause/action/communicat/status/customer/update/원인/공지/
  재발 : timeline|root cause|action items|status page|posted|mailed|postmortem|customers were|at
  09:|at 10:|at 14:|follow-ups|원인|재발|공지
incident/status/outage update/page/game/rehearse/customers/credit : status page|statuspage|posted|
  game day|rehearsed|drill|credited|refund
independent/isolate/own/leftover/order test/file/folder : mkdtemp|tmp_path|tempfile|each~own|
  fixture|random order|-p randomly|--shuffle|rolled back|fresh database|transaction per|isolated|
  beforeeach
index/indices/색인/인덱스 lock/block/online/concurrent/writes/without/쓰기/잠 : concurrently|
  algorithm: :concurrently|inplace|lock=none|online|gh-ost|pt-online|disable_ddl_transaction|
  autocommit_block|addindexconcurrently
index/query/queries/sql/plan/slow/쿼리 explain/plan/analyz/us/check/verify/before/compare/실행/계획
  : explain|query plan|index scan|seq scan|analyze|buffers|execution time|from~ms|ms to|실행 계획|
  인덱스를 타
index/인덱스 foreign/외래/key/column/키 : index|create index|idx_|db_index|인덱스
index/인덱스/색인 create/add/build/missing/slow/query/foreign/lock/추가/외래/생성 : create index|
  add_index|addindex|@@index|@index|index=true|db_index|createindex|idx_|btree|gin(|concurrently|
  explain|seq scan|index scan|index only|from~ms to|인덱스
input/argument/parameter/mutable default/mutate/copy/side/immutable : = none|copy()|deepcopy|
  structuredclone|spread|{...|[...|tuple|frozen|readonly|const|list(|dict(|clone()
input/body/payload/request/query/parameter/field/입력/요청 valid/schema/check/reject/type/range/
  검증/확인 : z.object|z.string|.safeparse(|.parse(|joi.|yup.|ajv|typebox|class-validator|
  @isstring|@valid|@notnull|@min(|basemodel|field(ge|conint|serializer.is_valid|is_valid()|
  validates :|binding:"required|validator.new|additionalproperties|422|400|badrequest|
  invalidargument|unprocessable|rejects anything|out of range|lists each|number(|isnan|clamp|
  math.min|검증|400을
input/parameter/payload/body/argument/request/field/form/value/upload/입력 valid/check/schema/
  sanit/reject/server/type/malform/untrusted/range/검증 : pydantic|zod|joi|schema|validat|
  serializer|400|422|raises|is checked|checks|rejected|isinstance|marshmallow|class-validator|
  parse(|safeparse|regex|range|min=|max=|must be|yup|ajv|strong param|permit(|checked on the
  server|검증|유효
input/입력/사용자/body/payload valid/server/검증/서버 : @valid|@notnull|@min|@size|validator|bean
  validation|joi|zod|pydantic|400|ge=|le=|constr|field(|스키마|유효성
interrupt/handler/isr short/quick/minimal : sets a flag|only sets|main loop|ring buffer|deferred|
  queue|bottom half|tasklet
invitation/invite/link/expired/old/reset/request/code/만료/재설정/오래된 reject/expire/refuse/만료/
  거부/만료된 : expired|expires_at|410|too old|no longer valid|ttl|hours|minutes|max_age|valid for|
  시간 뒤|분이 지나|만료
isolation/serializable : serializable|isolation|repeatable|read committed|for update
job/cron/task/worker/queue/schedul/작업/배치/예약 overlap/idempot/retry/fail/alert/lock/timeout/
  monitor/once/dead/실패/겹/재시도/알림 : withoutoverlapping|concurrencypolicy|forbid|flock|
  redlock|advisory|singleton|uniqu|jobid|job_id|max_instances|removeonfail|attempts:|backoff:|dead
  letter|failed queue|healthchecks|sentry|cron monitor|dead man|bullmq|sidekiq|celery|acks_late|
  visibility|leader|shedlock|이미 실행|한 번만
job/scheduled/cron/task/batch/작업/배치 dead/switch/miss/fail/silent/stop/알림/실패 : healthchecks|
  ping|heartbeat|on_failure|onfailure|slack|mail|pager|alert|sentry|notif|alarm|슬랙|알림|메일
job/worker/task/long/request/report/email/heavy/slow/process background/async/queue/worker/offload/
  outside : queue|worker|celery|sidekiq|background|delay(|enqueue|async|bullmq|202|job|cron|워커|
  큐|비동기
jump/shift/layout image/reserve/이미지/레이아웃 : width and height|width=|height=|aspect-ratio|
  min-height|nothing jumps|cls
jwt/token/access/refresh/토큰 short/lifetime/exp/valid/minutes/rotat/revok/long/만료/수명 : exp|
  minutes|15 min|ttl|expires|short-lived|lifetime|revok|rotat|refresh|days|hours|만료|분 뒤|시간 뒤
jwt/token/signature alg/audience/issuer/verif/valid/claim/none : algorithms=[|aud|iss|audience|
  issuer|verify|rs256|hs256|jwks|exp|nbf
keyboard/focus/tab/키보드/포커스 : tabindex|onkeydown|keydown|roving|arrow keys|enter and space|
  escape|esc closes|focus()|:focus-visible|focus-visible|focus ring|focustrap|focus-trap|inert|
  autofocus|returns focus|focus goes|focus moves|<button|native button|탭으로|엔터
known/accept/allow/only column/names/values/type/field : allowlist|allowed_|in allowed|enum|
  literal[|whitelist|mapping|one of|set of|fixed list|400
kubernetes/network/policy/firewall deny/default/allow/restrict/egress/ingress : networkpolicy|
  default-deny|policytypes|deny all|ufw default deny|allow only|security group
kubernetes/pod/container/deployment/service/process/worker memory/cpu/limit/resource/request/메모리
  : resources:|limits:|requests:|memory:|cpu:|mi$|512m|memorymax|oom|--memory|리소스 제한
label/name/accessible/icon/button/field/input/alt/image text/label/name/aria/alt/associat/descri/
  screen/reader : aria-label|<label|htmlfor|alt=|aria-describedby|sr-only|visually-hidden|title|
  labelled|label for|getbylabel|대체 텍스트|레이블
label/대체/aria/alt/텍스트 image/button/이미지/버튼/접근성/icon : aria-label|alt=|대체 텍스트|
  레이블|labelled
larg/big/huge/memory/stream/chunk/entire/whole file/upload/download/export/csv/response/dump/
  dataset/input/result/read/load : stream|chunk|line by line|iter|generator|yield|fetchmany|
  server-side cursor|batch|pipe|constant memory|mb of memory|memory stays|readable|bufio|copy(|
  copyto|limit(|createreadstream|스트림|나눠 읽|한 줄씩
lazy/defer/지연 load/image/이미지/로딩 : loading="lazy"|lazy|intersectionobserver|import(|on
  demand|지연
lazy/split/chunk/bundle/size/load/initial/지연 : react.lazy|lazy(|dynamic(|import(|next/dynamic|
  loading="lazy"|intersectionobserver|splitchunks|manualchunks|defer|on demand|when it scrolls|kb|
  gzipped|size-limit|bundlesize|budget|tree-shak|sideeffects
length/size/input/depth/unpacked/recursion/regex bound/limit/check/max : max_length|maxlen|limit|at
  most|maximum|> max|rejects~larger|413|depth|bytes|cap$|capped|truncat|too long|too large|
  max_depth|이하
licence/license/라이선스 : licence|license|mit|apache|bsd|gpl|notice|spdx|라이선스
link/issue/reference/ticket pull/pr/commit/request/description : fixes #|closes #|refs #|linked|
  issue~linked|jira|mentions #
lint/format/style/eslint/prettier/린트/포맷 : eslint|prettier|biome|ruff|black|gofmt|golangci|
  clippy|rubocop|ktlint|swiftlint|stylelint|0 errors|no warnings|clean|is quiet|is silent|lint
  passes|pre-commit
list/key/row/element stable/index/unique/id/key : key={|:key=|item.id|stable key|trackby|not the
  index|track item
list/table/rows/items/feed/long/thousand virtual/window/long/large/many/page/slow : virtual|
  react-window|windowing|paginat|infinite|visible rows|content-visibility|recyclerview|lazycolumn|
  가상
list/table/rows/long/large/thousand/목록/긴 virtual/window/render/paginat/only/가상/페이지 :
  react-virtual|usevirtualizer|fixedsizelist|virtuoso|cdk-virtual|recyclerview|lazycolumn|
  listview.builder|content-visibility|visible rows|only~in the dom|overscan|chunks of|보이는 행
live/prod/운영 data/test/change/direct/hand/manual/직접 : staging|copy|clone|dump|anonymi|
  migration|dry run|read-only|replica|sandbox|스테이징|복제|스크립트
llm/model/prompt/agent/assistant/chatbot/ai/모델 output/response/answer/json/reply/result valid/
  schema/check/pars/trust/structured/verify/검증 : json schema|structured|pydantic|zod|validat|
  response_format|retry~invalid|function call|tool call|strict|parse|스키마
llm/model/prompt/agent/assistant/tool/chatbot/instruction inject/untrusted/user/data/separat/
  content/instruction/document : delimit|untrusted|system prompt|as data|injection|quoted|not
  follow|allowlist|sandbox|escape|프롬프트 인젝션
llm/model/token/prompt/context/cost/api/모델 limit/cost/count/budget/max/truncat/cache/window/비용
  : max_tokens|tokens|budget|truncat|cost|tiktoken|cached|per request|count|context|summar|토큰
llm/prompt/model/eval/change/프롬프트 test/eval/golden/measure/regress/set/compare/평가 : eval|
  golden|cases|accuracy|promptfoo|test set|before and after|scored|judge|graded|평가
llm/prompt/model/version/temperature pin/version/fix/record/determin/temperature : pinned|
  temperature|model=|seed|snapshot|version|2024-|2025-
load/capacity/traffic/scale/performance/stress test/peak/expected/measure/autoscal/부하 : k6|
  locust|wrk|ab -n|jmeter|vegeta|load test|gatling|req/s|rps|users|hpa|autoscal|부하
load/empty/error/pending/progress/spinner/state/skeleton/feedback/wait/로딩 show/state/indicat/
  display/handle/design/message/each : skeleton|spinner|loading|empty state|isloading|pending|
  progress|placeholder|nothing here|error message|toast|retry button|fallback|로딩|빈 화면|스피너
load/stress/deadlock/race reproduce/before/after/fix : pgbench|minutes|hammer|stress|k6|loop|times|
  none in
loading/pending/progress/skeleton/spinner/로딩 error/state/show/display/empty/오류/상태/표시 :
  isloading|ispending|iserror|suspense|errorboundary|skeleton|spinner|aria-busy|placeholder|empty
  state|no results|"try again"|try again|toast|retry button|nothing yet|로딩|빈 화면|다시 시도
locale/로케일 : intl.|locale|tolocale|formatmessage|babel|numberformat|datetimeformat|로케일|ko-kr
lock regenerate/install/file/update/commit/changing/dependenc : npm ci|poetry lock|uv lock|
  package-lock|cargo.lock|go mod tidy|pnpm-lock|bundle lock|frozen|--locked|yarn.lock|lock file|
  pip-compile|lockfile
lock/mutex/잠금 hold/short/brief/io/network/call/slow/await/while/inside/during/critical : outside
  the lock|released before|release~before|not hold|no longer hold|copies~under|critical section|
  shorter|only around|snapshot under|before the call|락 밖
lock/tables/row/account order/consistent/deadlock/same : in id order|sorted|same order|order by id|
  always~first|ascending|lock order|first and|deadlock|정렬|순서
lock/잠금/잠근/쿠폰/행 row/once/use/사용/한 : for update|select_for_update|lock|unique|advisory|
  update~where|행 잠금|잠그|잠급|한 번만
log/error/exception/failure/실패/오류 log/stack/trace/context/sentry/report/track/record/남 :
  logger.exception|exc_info|sentry|traceback|log.error|logged|captureexception|slog.error|
  console.error|logger.error|with the~id|기록
log/error/message/로그/오류 secret/personal/sensitive/password/token/card/pii/mask/redact/leak/
  internal/stack/detail/개인정보/비밀번호/민감 : redact|mask|***|[redacted]|[filtered]|
  filter_parameters|scrub|beforesend|denylist|last four|sanitiz|only the id|only the user id|
  without the body|hash of|no body|reference number|same reference|something went wrong|request id
  instead|generic message|가려|마스킹|뺐
log/print/debug/console remov/left/clean/statement : console.log~gone|print~gone|removed~print|
  logger|log.debug|no print|debug output|logging.|removed~log|디버그 출력
log/record/write/기록/로그/남 audit/attempt/denied/rejection/failure/failed/access/command/action/
  admin/감사/시도/거부/실패/작업 : audit|logged|logger|log.warn|recorded|written to|log line|event|
  warning|insert into|is logged|log_|writes~row|기록|남깁|남겼|로그
log/로그 id/request/structured/context/correlat/trace/json/요청/구조 : x-request-id|requestid|
  request_id|req_id|traceid|trace_id|correlation|structlog|pino|winston|slog|zap|zerolog|logfmt|
  mdc.put|contextvars|asynclocalstorage|json lines|as json|child logger|bind(|요청 아이디
log/로그 rotat/size/disk/retention/volume/noise/sampl/grow : logrotate|rotatingfilehandler|
  max_bytes|max-size|retention|days|sampl|journald|회전
log/로그 structur/json/field/context/request/correlation/trace/id/level/요청 : json|structlog|
  request_id|request id|correlation|trace_id|extra=|bind(|slog|zap|logger.info|level|contextvar|
  mdc|pino|serilog|구조화|요청 id
login/signin/sign-in/attempt/password/otp/reset/endpoint/로그인 limit/rate/throttle/lock/brute/
  slow/제한/잠금 : express-rate-limit|slowapi|@throttle|django-axes|rack::attack|bucket4j|fail2ban|
  429|after~wrong|wrong~in a row|five~per|tries|too many|locked for|cool-down|cooldown|per ip and|
  limit_req|분 동안|회 틀리|회까지
login/signup/reset/password/error/message/response/account/email enumerat/same/reveal/exist/differ/
  generic/identical/leak/tell/whether : same message|same answer|same response|generic|identical|
  "invalid credentials"|whether~exists|if~exists|does not reveal|regardless|같은 메시지
long-lived/token/credential publish/without/ci/deploy : trusted publishing|oidc|id-token: write|
  workload identity|short-lived|federat
lose/loss/lost/drops network/recording/data/draft/connection : indexeddb|localstorage|resum|retry|
  buffer|kept until|queue|upload again|saved locally|persist
"""
