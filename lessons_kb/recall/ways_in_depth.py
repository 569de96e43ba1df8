"""More ways to tell of what items ask for most.

See `lessons_kb.recall.ways` for how a line is read.
"""

from __future__ import annotations

WAYS = r"""
env/config/settings/variable/설정/환경 valid/check/start/boot/fail/missing/required/early/검증/
  시작 : envalid|znv|t3-env|getorthrow|must_get|mustgetenv|required(|refuses to boot|won't start|
  does not start|exits with code 1|exit code 1|before~binds|before the server|
  missing or malformed|names the missing|list of the offenders|keyerror|fatal|viper|
  @configurationproperties|@validated|validateonstart|env.str(|environ[|시작하지 않|종료
secret/token/credential/key/password/비밀/키/토큰 code/repo/commit/hardcod/source/bundle/config/
  log/plain/코드 : process.env|os.environ|os.getenv|env(|secretsmanager|getsecretvalue|
  secret_key_base|keyvault|doppler|infisical|dotenv|github secrets|repository settings|
  repository secrets|from the environment|taken from the env|injected at|mounted as|
  read at runtime|run time from|stored in vault|no longer~in the repo|moved to the env|환경에서|
  시크릿 매니저|secret manager
secret/token/key/credential/leak/exposed/노출/유출 rotat/revok/invalidat/replace/new/renew/폐기/
  재발급 : rolled the key|new pair|issued a new|old one~revoked|old one is dead|deactivat|
  disabled the old|regenerated|replaced in|re-issued|issued afresh|새로 발급|폐기
password/비밀번호 hash/store/plain/salt/해시/저장 : argon2|bcrypt|scrypt|pbkdf2|password_hash(|
  hashpw|gensalt|set_password|cost 12|rounds|owasp|upgraded when the user next|rehash|passlib|
  devise|identity
login/signin/sign-in/attempt/password/otp/reset/endpoint/로그인 limit/rate/throttle/lock/brute/
  slow/제한/잠금 : express-rate-limit|slowapi|@throttle|django-axes|rack::attack|bucket4j|
  fail2ban|429|after~wrong|wrong~in a row|five~per|tries|too many|locked for|cool-down|cooldown|
  per ip and|limit_req|분 동안|회 틀리|회까지
session/cookie/세션/쿠키 secure/httponly/samesite/flag/protect/set/store : httponly: true|
  httponly=true|samesite: 'lax'|samesite=lax|samesite=strict|secure: true|session_cookie_secure|
  sessioncookiehttponly|set-cookie|out of reach of scripts|not readable from javascript|__host-
session/token/device/세션/기기 invalid/revoke/end/logout/sign/password/change/kill/무효/로그아웃
   : tokenversion|token_version|session_version|signed out|sign out everywhere|logged out|
  deletemany|delete from sessions|revoke_all|all other devices|other devices|
  refresh tokens~deleted|everywhere|모든 기기|모든 세션
role/admin/permission/access/owner/authoriz/authoris/권한/관리자 check/verify/require/enforce/
  only/protect/restrict/limit/deny/확인/검사/제한 : @preauthorize|hasrole(|hasauthority|
  requirerole|require_permission|@permission_required|userpassestestmixin|authorize!|pundit|casl|
  ability|can?(|isowner|owner_id ==|owner_id !=|user.id !==|!== req.user|where: { userid|
  findfirst({ where|current_user.|forbidden|403|404 for strangers|somebody else's|someone else's|
  other people's|not theirs|belongs to|본인이 아니|다른 사용자|관리자만
input/body/payload/request/query/parameter/field/입력/요청 valid/schema/check/reject/type/range/
  검증/확인 : z.object|z.string|.safeparse(|.parse(|joi.|yup.|ajv|typebox|class-validator|
  @isstring|@valid|@notnull|@min(|basemodel|field(ge|conint|serializer.is_valid|is_valid()|
  validates :|binding:"required|validator.new|additionalproperties|422|400|badrequest|
  invalidargument|unprocessable|rejects anything|out of range|lists each|number(|isnan|clamp|
  math.min|검증|400을
sql/query/queries/쿼리 inject/parameter/bind/concat/string/interpolat/placeholder/safe/인젝션/
  바인딩 : execute(?|values (?|= ?|= $1|= %s|= :|sqlparameter|preparestatement|preparedstatement|
  bind_param|setstring(|.where(|.filter(|sql`|sql.|$queryraw`|sanitize_sql|queryrow(|
  named parameter|arguments are passed separately|no longer glued|glued together|바인딩|물음표
html/markup/markdown/user/content/comment/text/output/사용자/입력 escap/sanit/xss/clean/purify/
  render/raw/정화/이스케이프 : dompurify|sanitize-html|sanitize(|bleach.clean|nh3|textcontent|
  createtextnode|markupsafe|escape(|escapehtml|html.escape|htmlspecialchars|{{|v-text|
  safe filter~removed|rehype-sanitize|no dangerouslysetinnerhtml|onerror|script tag|&lt;|
  shows up as text|as plain text|정화|텍스트로
file/path/download/upload/name/경로/파일 traversal/outside/escape/directory/root/inside/safe/
  resolve/벗어 : path.resolve|path.relative|startswith(|is_relative_to|commonpath|basename|
  realpath|secure_filename|filepath.clean|os.openroot|../|..\|leaves the|outside the|
  stays inside|stays within|uuid|getcanonicalpath|토큰화|상위
upload/image/file/attachment/avatar/업로드/파일/이미지/첨부 type/content/extension/mime/magic/
  format/real/형식/종류 : file-type|filetypefromb|magic.from_buffer|image.open|.verify()|
  first bytes|magic bytes|signature bytes|sniff|detectcontenttype|tika|content is looked at|
  renamed exe|renamed to .png|415|실제 형식|매직
size/upload/body/file/image/request/크기/용량 limit/cap/max/bound/제한/상한/검증 : limits: {|
  filesize:|content_length|maxbytes|bodylimit|client_max_body_size|request_size_limit|
  max_upload_size|10 * 1024|5 * 1024|mb|mib|413|too large|bigger than|larger than|over~refused|
  이하만|넘으면
cors/origin/출처 allow/restrict/list/known/exact/wildcard/허용 : allowed_origins|allow_origins=[|
  origin: [|corsoptions|setallowedorigins|allowlist|exact match|no longer "*"|instead of "*"|
  instead of *|vary: origin|only~origins|our two origins
redirect/link/url/next 외부/open/allow/relative/own/validate/check/safe : startswith("/")|
  startswith('/')|url_has_allowed|same origin|new url(|relative paths only|host is ours|
  falls back to /|ignored otherwise
webhook/callback/payload/웹훅/콜백 sign/verify/authentic/hmac/서명/검증 : constructevent|
  x-signature|x-hub|svix|createhmac|hmac.new|hmac.compare|validate_signature|forged|tampered|
  bounces|raw body|verifywebhook|400 before|401 before|서명을 계산|서명이 다르
idempoten/duplicate/twice/repeat/double/redeliver/중복/멱등 event/webhook/request/order/payment/
  message/job/mail/handler/consumer/이벤트/결제/주문 : on conflict do nothing|insert ignore|
  insert or ignore|upsert|idempotency-key|idempotency_key|processed_events|event_id|
  already handled|already processed|seen before|skip the rest|second delivery|second one|
  delivered twice|sent twice|does nothing the second|unique~event|unique index|setnx|set nx|
  exists_by|findunique|once per|no second|두 번째|이미 처리
retry/retries/재시도 bound/cap/limit/backoff/jitter/exponential/transient/attempts/times/횟수/
  백오프 : stop_after_attempt|wait_exponential|retry(|retries:|max_attempts|maxattempts|p-retry|
  async-retry|exponentialbackoff|backoffcoefficient|retrytemplate|@retryable|urllib3|retry-after|
  attempt <|attempt >|1 s, 2 s|1, 2, 4|doubles|doubling|gives up|dead letter|tries it|at most|
  after the third|after the fifth|세 번|다섯 번|포기
timeout/hang/forever/deadline/타임아웃/제한 request/call/http/client/network/query/command/
  outgoing/external/set/explicit/요청/호출 : timeout=|timeout:|timeout(|abortsignal.timeout|
  context.withtimeout|httpx.timeout|connect_timeout|read_timeout|connecttimeout|readtimeout|
  settimeout|clienttimeout|deadline|after 5 s|after 10 s|seconds|5 s|10 s|30 s|gives up after|
  no answer within|초 안에|초로|초가 지나
cancel/abort/stale/in-flight/outdated/취소 request/search/fetch/response/task/요청/응답/검색 :
  abortcontroller|signal:|.abort()|takelatest|switchmap|cancelled|cancelqueries|usequery|
  ignore = true|ignored flag|older~dropped|late~ignored|previous~aborted|context.cancel|ctx.done|
  job.cancel|이전 요청
debounce/throttle/keystroke/typing/scroll/resize/디바운스/입력 : usedebounce|usedeferred|
  debounce(|throttle(|settimeout|cleartimeout|requestanimationframe|lodash|
  after the last keystroke|stops typing|paused for|ms of silence|ms|밀리초|입력이 멈
list/table/rows/long/large/thousand/목록/긴 virtual/window/render/paginat/only/가상/페이지 :
  react-virtual|usevirtualizer|fixedsizelist|virtuoso|cdk-virtual|recyclerview|lazycolumn|
  listview.builder|content-visibility|visible rows|only~in the dom|overscan|chunks of|보이는 행
memo/re-render/rerender/render : usememo|usecallback|react.memo|memo(|createselector|computed(|
  usecontextselector|commits|stable reference|same object|split the context|renders went|profil
effect/listener/timer/subscription/interval/observer/socket/구독/타이머 clean/remove/unmount/
  unsubscribe/leak/destroy/stop/해제/정리 : return () =>|removeeventlistener|clearinterval|
  cleartimeout|.unsubscribe()|.disconnect()|.close()|ondestroy|onunmounted|onbeforeunmount|
  takeuntildestroyed|abort()|signal|ondispose|dispose()|정리 함수|해제
accessib/a11y/label/name/button/icon/image/form/field/접근성/버튼/이미지 label/name/alt/aria/
  accessible/text/screen/reader/describ/대체/텍스트/낭독 : aria-label=|aria-labelledby|
  aria-describedby|sr-only|visually-hidden|visuallyhidden|<label|htmlfor|alt=|getbyrole|
  getbylabel|accessibilitylabel|contentdescription|semantics(|announced as|announces|axe|
  voiceover|nvda|talkback|caption|대체 텍스트|스크린 리더
keyboard/focus/tab/키보드/포커스 : tabindex|onkeydown|keydown|roving|arrow keys|enter and space|
  escape|esc closes|focus()|:focus-visible|focus-visible|focus ring|focustrap|focus-trap|inert|
  autofocus|returns focus|focus goes|focus moves|<button|native button|탭으로|엔터
semantic/native/element/button/clickable/interactive/div : <button|<a href|<nav|<main|<fieldset|
  <dialog|<details|type="button"|real button|proper button|native
motion/animation/animate/reduced : prefers-reduced-motion|matchmedia|reducedmotion|
  usereducedmotion|motion-safe|motion-reduce|transition: none
contrast/colour/color/dark/theme/readable : contrast|4.5:1|4.5|aa|prefers-color-scheme|var(--|
  tokens|darker|axe|both themes|oklch
loading/pending/progress/skeleton/spinner/로딩 error/state/show/display/empty/오류/상태/표시 :
  isloading|ispending|iserror|suspense|errorboundary|skeleton|spinner|aria-busy|placeholder|
  empty state|no results|"try again"|try again|toast|retry button|nothing yet|로딩|빈 화면|
  다시 시도
form/field/input/validation/폼/필드/입력 error/message/keep/preserve/next/inline/first/double/
  submit/disable/오류/유지/중복 : aria-invalid|aria-describedby|under the field|below the field|
  next to the field|focus to the first|first invalid|setfocus|isSubmitting|issubmitting|
  disabled={|disabled while|formstate|defaultvalue|localstorage|keeps what|still there|not lost|
  draft|입력한 값|비활성화
lazy/split/chunk/bundle/size/load/initial/지연 : react.lazy|lazy(|dynamic(|import(|next/dynamic|
  loading="lazy"|intersectionobserver|splitchunks|manualchunks|defer|on demand|when it scrolls|
  kb|gzipped|size-limit|bundlesize|budget|tree-shak|sideeffects
image/picture/이미지 dimension/width/height/layout/shift/responsive/lazy/format/optimi : height={|
  width=|aspect-ratio|srcset|sizes=|next/image|webp|avif|loading="lazy"|fetchpriority|cls|
  placeholder=|decoding="async"|jump
translat/i18n/locale/language/string/text/번역/문구/다국어 extract/key/hardcod/fallback/missing/
  externalis/file/plural/format : t('|t("|usetranslation|formatmessage|intl.|<trans|gettext|
  i18next|ngettext|fallbacklng|en.json|ko.json|de.json|strings.xml|.arb|messages_|localizable|
  pluralrules|키가 없으면|옮기고
date/time/시간/날짜/시각 utc/zone/aware/locale/store/display/format/offset/dst/시간대/표시/저장 :
  timezone.utc|datetime.now(|utcnow~gone|timestamptz|toisostring|instant.now|offsetdatetime|
  zoneddatetime|zoneinfo|luxon|date-fns-tz|temporal.|intl.datetimeformat|at time zone|use_tz|
  iso 8601|with its offset|in the user's zone|user's own zone|asia/seoul|europe/|america/|
  한국 시간|현지 시간
money/price/amount/currency/total/금액/가격 : decimal|bigdecimal|numeric(|cents|minor unit|
  bigint|integer|dinero|money(|intl.numberformat|half_up|half_even|rounding|largest remainder|
  no floats|원 단위|정수
migration/schema/마이그레이션/스키마 revers/rollback/down/undo/test/safe/lock/step/backward/
  compat/되돌/롤백/단계 : down()|exports.down|def down|reversible do|up and down|back and forth|
  rolled it back|-1|migrate:rollback|on a copy|on a clone|production-size|staging copy|
  restored dump|nullable|two releases|next release|expand|backfill|lock_timeout|concurrently|
  not valid|dual|both columns|view for the old|pgroll|gh-ost|strong_migrations|squawk|
  다음 릴리스|복제본
index/인덱스/색인 create/add/build/missing/slow/query/foreign/lock/추가/외래/생성 : create index|
  add_index|addindex|@@index|@index|index=true|db_index|createindex|idx_|btree|gin(|concurrently|
  explain|seq scan|index scan|index only|from~ms to|인덱스
transaction/atomic/트랜잭션/원자 : @transactional|transaction.atomic|begin;|commit;|$transaction|
  session.begin|unitofwork|db.transaction|with_transaction|transaction do|rollback|
  all or nothing|either both|both or neither|half-written|os.replace|rename(|트랜잭션
concurren/race/lost/simultan/parallel/동시/경쟁 update/write/request/stock/balance/counter/order/
  수정/요청/재고 : for update|select_for_update|with_for_update|lock_version|@version|rowversion|
  if-match|optimistic|compareandset|atomic|incrby|f("|f('|update~set~where|where version|
  advisory_lock|pg_advisory|mutex|synchronized|serializable|unique constraint|conflict|409|
  행 잠금|낙관적
n+1/eager/prefetch/join/queries/쿼리 : select_related|prefetch_related|joinedload|selectinload|
  subqueryload|includes(|.include(|preload(|eager_load|dataloader|join fetch|@entitygraph|with(|
  in one query|one query|two queries|queries instead of|queries for|queries, was|down from|
  assertnumqueries|toplevel|쿼리가
paginat/cursor/page/limit/페이지 : limit(|take:|skip:|first:|after:|cursor|nextcursor|
  next_cursor|page_size|per_page|pagenumberpagination|keyset|slice|50 per|100 per|at most 100|
  max 100|max 200|capped at|math.min(|한 번에 최대
cache/caching/캐시 invalid/expire/ttl/key/stale/bound/evict/무효/만료/키 : ex=|expire(|setex|ttl|
  maxsize|maxage|max-age|s-maxage|revalidate|invalidatequeries|cache.delete|evict|@cacheevict|
  lru|del(|etag|version in the key|part of the key|is dropped when|cleared when|cleared on|
  forgotten when|지워지|무효화
cache/http/header/response/asset cache-control/browser/cdn/immutable/store/private :
  cache-control|no-store|immutable|max-age|private|etag|hash in the|contenthash|vary|s-maxage
log/로그 id/request/structured/context/correlat/trace/json/요청/구조 : x-request-id|requestid|
  request_id|req_id|traceid|trace_id|correlation|structlog|pino|winston|slog|zap|zerolog|logfmt|
  mdc.put|contextvars|asynclocalstorage|json lines|as json|child logger|bind(|요청 아이디
log/error/message/로그/오류 secret/personal/sensitive/password/token/card/pii/mask/redact/leak/
  internal/stack/detail/개인정보/비밀번호/민감 : redact|mask|***|[redacted]|[filtered]|
  filter_parameters|scrub|beforesend|denylist|last four|sanitiz|only the id|only the user id|
  without the body|hash of|no body|reference number|same reference|something went wrong|
  request id instead|generic message|가려|마스킹|뺐
error/exception/failure/오류/예외/실패 log/report/swallow/silent/surface/propagate/handle/catch/
  rethrow/user/로그/처리/삼키 : raise|rethrow|throw err|throw new|logger.exception|
  captureexception|sentry|console.error|log.error|errgroup|err != nil|return err|fmt.errorf|%w|
  except~as|.catch(|onerror|errorboundary|bubbles up|no longer swallowed|used to vanish|surfaces|
  toast|exit code|non-zero|호출한 쪽
test/테스트 regression/reproduce/bug/fail/issue/fix/회귀/재현 : fails without|fails on main|
  fails on the old|red without|red on main|test(issue|test_issue|gh-|without the fix|
  before the fix it|stash|on the old code|would have caught|named after the|for that very|
  exact input|that very number|수정 전에는
test/테스트 edge/boundary/empty/invalid/error/failure/negative/unhappy/경계/실패/예외 :
  empty~test|test.each|it.each|parametrize|table-driven|[theory]|inlinedata|raises|
  rejects.tothrow|tothrow|assertraises|expect_error|should_panic|throws|4xx~test|400~test|
  404~test|both~boundaries|last~page~test|zero~test|negative~test|경우~테스트
test/spec/테스트 mock/fake/network/external/real/stub/clock/time/외부/모의 : msw|nock|responses|
  respx|vcr|wiremock|mockserver|httptest|test double|fake|stub|usefaketimers|freezegun|
  time_machine|timecop|testcontainers|localstack|in-memory|sandbox|recorded|no network
test/flaky/불안정 deterministic/stable/sleep/wait/order/random/isolat : waitfor|findby|
  await expect|eventually|usefaketimers|freeze|seed|sorted|mkdtemp|tmp_path|own database|
  rolled back after|--repeat|times in a row|100 times|50 times|repeat-each|stress|no more sleeps|
  instead of sleeping|shuffle
ci/pipeline/workflow/github/gitlab check/test/lint/type/build/block/fail/matrix/cache/run/
  required : .github/workflows|- run:|runs-on|matrix|needs:|required check|on: pull_request|
  jobs:|gitlab-ci.yml|--frozen-lockfile|npm ci|--max-warnings|--check|exits 1|blocks the merge|
  can't be merged|fails the build|turns red|actions/cache|concurrency
pin/lock/version/exact/고정 action/dependency/dependencies/image/base/install/의존성/이미지 :
  @sha256|sha|==|--frozen-lockfile|npm ci|--locked|--require-hashes|uv.lock|poetry.lock|
  package-lock.json|pnpm-lock|cargo.lock|go.sum|gemfile.lock|committed lockfile|digest|
  exact version|fixed version|full commit|다이제스트
docker/container/image/컨테이너/이미지/도커 root/user/small/size/stage/layer/secret/health/pin/
  slim : user node|user app|user 10|useradd|adduser|nonroot|distroless|alpine|slim|as build|
  copy --from|multi-stage|.dockerignore|--mount=type=secret|healthcheck|@sha256|mb|runasuser|
  runasnonroot|일반 사용자|멀티 스테이지
deploy/release/rollout/배포/릴리스 rollback/revert/canary/gradual/smoke/verify/announce/monitor/
  health/watch/plan/롤백/점진/확인/공지 : rollout undo|helm rollback|vercel rollback|
  previous release|former build|flag off|blue/green|canary|1 %|5 %|10 %|of traffic|smoke|healthy|
  /healthz|watched|error rate|dashboard|sentry|status page|posted|#deploy|#release|told|
  rolled out|in waves|first~then everyone|되돌|지켜봤|공지
backup/restore/snapshot/dump/백업/복원 before/test/verify/offsite/encrypt/restore/전에/검증/복원
   : pg_dump|pg_restore|mysqldump|mongodump|restic|borg|snapshot|snap-|rds~snapshot|copied to|
  came back|restored into|row counts match|scratch|checksum|took a|made a copy|.bak|백업|복원
alert/alarm/monitor/metric/dashboard/notify/알림/경보/지표/모니터링 : prometheus|alertmanager|
  grafana|datadog|cloudwatch|sentry|pagerduty|opsgenie|slack|webhook to|threshold|for:|burn rate|
  gauge|counter|histogram|statsd|otel|panel|synthetic|uptime|healthchecks|pages~on call|on-call|
  mail~when|슬랙|지표
document/docs/readme/문서 update/write/describe/explain/example/run/setup/new/api/option/추가/
  반영/설명 : readme|docs/|mdx|storybook|jsdoc|tsdoc|docstring|openapi|swagger|wiki|guide|
  example|code sample|how to|section|table of|--help|usage|contributing|adr|runbook|man page|
  문서에|위키|예시
changelog/changeset/release/notes/version/semver/breaking/migration/변경 entry/note/add/write/
  bump/major/guide/describe/이력 : changelog|.changeset|changeset|unreleased|release notes|
  migrating|upgrading.md|migration guide|semver|major|2.0.0|3.0.0|breaking change|feat!|bump|
  news/|towncrier|변경 이력
deprecat/remove/old/compat/backward/legacy/rename/호환/예전 api/option/prop/name/field/endpoint/
  function/client/이름/필드 : @deprecated|deprecat|console.warn|warnings.warn|alias|re-export|
  still works|still accepted|both names|old~keeps working|old~still|optional|default~unchanged|
  overload|codemod|nobody's code breaks|existing~keep|until v|sunset|선택 사항|기존 클라이언트
type/any/타입 replace/strict/real/narrow/guard/check/exhaust/generic/union : unknown|generic|
  typeof|instanceof|is string|satisfies|never|assertnever|zod|noimplicitany|strict: true|
  "strict": true|tsc|type guard|discriminated|keyof|infer|no any|mypy|pyright|타입 가드
dead/unused/legacy/obsolete/duplicate/commented code/dependency/dependencies/file/import/export/
  flag/css/logic : deleted|removed|knip|ts-prune|depcheck|vulture|unimported|purgecss|gone|
  lines less|fewer lines|one helper|extracted|shared|single source|now import|both call|삭제
lint/format/style/eslint/prettier/린트/포맷 : eslint|prettier|biome|ruff|black|gofmt|golangci|
  clippy|rubocop|ktlint|swiftlint|stylelint|0 errors|no warnings|clean|is quiet|is silent|
  lint passes|pre-commit
dependency/dependencies/package/library/의존성/패키지 add/new/upgrade/audit/licen/vulnerab/size/
  update/취약점 : npm audit|pip-audit|cargo audit|osv|snyk|dependabot|renovate|mit|apache-2|bsd|
  license|weekly downloads|maintained|kb|bundlephobia|changelog|release notes|breaking changes|
  no new dep|bumped|advisory
agent/bot/command/chat/telegram/slack/discord/봇/명령/채팅 allow/deny/reject/unknown/sender/only/
  confirm/limit/허용/거부 : allowed_|allowlist|from_user|chat.id|chat_id|user_id not in|
  not in allowed|refus|ignored~strangers|stranger|unauthori|only~me|only answers|confirm|
  /confirm|reply_text|are you sure|허용된|거절
model/llm/prompt/agent/gpt/모델/프롬프트 valid/schema/limit/budget/inject/eval/retry/timeout/
  cost/cache/fallback/검증 : json_schema|response_format|structured|zod|pydantic|max_tokens|
  max_turns|max_steps|tool_choice|temperature=0|system prompt|delimit|<document>|untrusted|eval|
  golden|promptfoo|judge|budget|tokens|prompt caching|cache_control|fallback|stop after
undo/confirm/delete/destructive/irreversible/삭제/되돌/확인 user/action/data/before/ask/prompt/
  dialog/사용자/전에 : confirm(|alertdialog|are you sure|type the name|types the name|undo|trash|
  soft delete|deleted_at|restore|grace period|30 days|dry run|--dry-run|--yes|prompts|
  window.confirm|확인 창|휴지통|복구
import/export/csv/upload/row/가져오기/행 bad/invalid/error/report/skip/preview/encoding/large/
  stream/validate/오류/검증 : line number|row number|errors.csv|rejected rows|skipped~rows|
  listed|per row|preview|dry run|utf-8|bom|papaparse|csv-parse|streams|chunks|batch|transaction|
  rows in|rows out|summary|건 실패|행 번호
job/cron/task/worker/queue/schedul/작업/배치/예약 overlap/idempot/retry/fail/alert/lock/timeout/
  monitor/once/dead/실패/겹/재시도/알림 : withoutoverlapping|concurrencypolicy|forbid|flock|
  redlock|advisory|singleton|uniqu|jobid|job_id|max_instances|removeonfail|attempts:|backoff:|
  dead letter|failed queue|healthchecks|sentry|cron monitor|dead man|bullmq|sidekiq|celery|
  acks_late|visibility|leader|shedlock|이미 실행|한 번만
event/websocket/socket/postmessage/stream/message origin/auth/reconnect/valid/heartbeat/close/
  backpressure/check/order : event.origin|e.origin|targetorigin|token|handshake|reconnect|
  backoff|ping|pong|heartbeat|last-event-id|resume|schema|safeparse|close(|highwatermark|drain|
  sequence
poll/background/tab/interval/refresh stop/hidden/pause/visible/reduce/backoff : visibilitychange|
  visibilitystate|document.hidden|refetchintervalinbackground|pagevisibility|paused|stops while|
  backoff|etag
privacy/consent/analytics/tracking/gdpr/personal/개인정보/동의 : consent|opt-in|before~consent|
  declined|anonymi|pseudonym|hashed|ip~truncated|retention|deleted after|export|erase|no cookies|
  dnt|동의|익명|파기
browser/safari/firefox/mobile/device/phone test/check/support/fallback/try/verify/확인 : safari|
  firefox|webkit|playwright|browserstack|iphone|ipad|android|pixel|samsung|@supports|polyfill|
  fallback|browserslist|caniuse|old ipad|real device|실기기
scroll/back/history/url/filter/state/tab restore/preserve/keep/persist/sync/share/navigat/유지 :
  scrollrestoration|scrollto|sessionstorage|searchparams|usesearchparams|query string|in the url|
  pushstate|replacestate|nuqs|history.state|bfcache|back button|주소
graceful/shutdown/sigterm/drain/stop/종료 : sigterm|sigint|server.close|shutdown(|graceful|
  in-flight|inflight|drain|prestop|terminationgraceperiod|finishes what|waits for~to finish|
  awaits~running|errgroup|signal.notifycontext|lifespan
memory/leak/메모리/누수 : heap|rss|weakmap|weakref|removeeventlistener|clearinterval|pprof|
  memray|tracemalloc|valgrind|mb|stays flat|flat after|plateau|stream|bounded|누수
permission/workflow/token/iam/least/role/scope/privilege 최소/least/minimal/read/only/restrict/
  limit/narrow/scope : permissions:|contents: read|pull-requests: write|id-token|read-only|arn:|
  s3:getobject|no wildcard|scoped to|only what|readonly|cap_drop|nothing else|최소
review/generated/sql/diff/plan/output 전에/before/read/check/inspect/apply : opened~file|
  read the|looked at the|went through|found a|edited|terraform plan|plan says|diff|dry run|
  only then
split/smaller/reviewable/large/focused/separate pr/pull/commit/change/request : stacked|
  three prs|two prs|separate pr|separate commit|commit by commit|own commit|split into|first pr|
  follow-up pr~opened|cherry-pick
link/issue/reference/ticket pull/pr/commit/request/description : fixes #|closes #|refs #|linked|
  issue~linked|jira|mentions #
animation/layout/dom/performance/frame read/write/batch/thrash/transform : requestanimationframe|
  transform|will-change|fastdom|batched|measured first|first measure|then write|resizeobserver|
  60 fps
"""
