"""Topics from m to q, by their first word.

See `lessons_kb.recall.ways` for how a line is read.
"""

from __future__ import annotations

WAYS = r"""
main/ui/thread off/load/heavy/work/block/images : background|worker|dispatchers.io|executor|async|
  queue|off the main|to_thread|coroutine|isolate
manual/hand/click/browser/try/device/직접 test/check/verify/확인 : clicked through|tried it|tried
  in|opened the|walked through|by hand|on my phone|on staging|in the browser|with curl|curl -|
  postman|played with|on a real|눌러 보|열어 보|직접 확인|접속해
memo/re-render/rerender/render : usememo|usecallback|react.memo|memo(|createselector|computed(|
  usecontextselector|commits|stable reference|same object|split the context|renders went|profil
memory/leak/heap/메모리 leak/grow/releas/free/측정/누수 : heap|rss|memory~flat|stays at|weakref|
  removeeventlistener|valgrind|asan|profil|mb|leak|unsubscrib|tracemalloc|drops|누수
memory/leak/listener/timer/구독/해제/정리 clean/clear/release/unmount : removeeventlistener|
  clearinterval|unsubscribe|return () =>|dispose|해제|정리
memory/leak/메모리/누수 : heap|rss|weakmap|weakref|removeeventlistener|clearinterval|pprof|memray|
  tracemalloc|valgrind|mb|stays flat|flat after|plateau|stream|bounded|누수
memory/oom/메모리 stream/batch/chunk/large/대용량/나눠 : stream|chunk|iter|batch|generator|
  fetchmany|나눠|스트림
memory/usage/메모리 check/measure/leak/확인/사용 : heap|rss|mb|profil|flat|stays|devtools|메모리
merge/conflict/rebase/충돌 resolv/both/side/drop/author/other/test/ask : kept both|both sides|both
  changes|resolved|asked|merged by hand|rerere|compared|git diff|range-diff|양쪽
message/chat/bot/reply/markdown/텔레그램 long/split/length/limit/escape/format/4096 : 4096|2000|
  split|chunk|escape|parse_mode|truncat|나눠
message/job/queue/event/consumer/worker/task ack/commit/offset/after/confirm/lost/lose/crash : ack|
  after~processing|acks_late|commit~offset|manual commit|basic_ack|enable.auto.commit|only after|
  delete~message|redeliver|visibility|at least once|처리가 끝난 뒤
message/job/queue/event/task/poison dead/dlq/poison/park/quarantin/fail : dead letter|dead-letter|
  dlq|parked|failed queue|failed_jobs|max deliver|maxreceivecount|quarantine|error queue|
  after~attempts|데드 레터|실패 큐
metadata/exif/메타데이터 strip/remove/image/photo/제거/이미지 : exif|strip|re-encod|
  metadata~removed|gps|without metadata|withmetadata|메타데이터|위치 정보
migration/alter/ddl/schema/index/statement/마이그레이션 lock/timeout/block/wait/short/잠금 :
  lock_timeout|statement_timeout|concurrently|algorithm=inplace|lock=none|pt-online|gh-ost|not
  valid|instant|autocommit_block|disable_ddl_transaction|잠금 시간
migration/column/field/alter/add default/null/rewrite/lock/not/table/constraint : nullable|
  null=true|default|not valid|validate constraint|without rewriting|lock_timeout|instant|add
  column~null|널 허용|기본값
migration/column/table/data/drop/delete/destruct back/dump/recover/restor/snapshot/백업 : backup|
  snapshot|pg_dump|mysqldump|dumped|copied|exported|archiv|point-in-time|백업|스냅샷
migration/schema/column/rename/drop/deploy/release/마이그레이션/컬럼 step/phase/expand/contract/
  two/separate/several/compat/backward/old/단계/나눠/호환 : first release|next release|both
  columns|writes both|dual|nullable|expand|contract|two steps|three steps|two deploy|later release|
  in a separate|old~still|keeps working|release~drops|단계|두 번에|다음 배포|구버전
migration/schema/ddl/column/table/alter/마이그레이션 revers/down/undo/back/roll/되돌/롤백 :
  downgrade|down()|def down|reversible|rollback|backwards|reverse|exports.down|back and forth|up
  and down|undo|내려|되돌|롤백
migration/schema/마이그레이션 test/tri/run/rehears/check/copy/stag/production/real/dump/시험/복제 :
  staging|copy of|snapshot|dump of|production-size|restored|clone|dry run|ran~against|on a copy|
  alembic upgrade|million rows|took~on|test database|replica|복사본|복제본|스테이징
migration/schema/마이그레이션/스키마 revers/rollback/down/undo/test/safe/lock/step/backward/compat/
  되돌/롤백/단계 : down()|exports.down|def down|reversible do|up and down|back and forth|rolled it
  back|-1|migrate:rollback|on a copy|on a clone|production-size|staging copy|restored dump|
  nullable|two releases|next release|expand|backfill|lock_timeout|concurrently|not valid|dual|both
  columns|view for the old|pgroll|gh-ost|strong_migrations|squawk|다음 릴리스|복제본
minimum/supported/version python/node/runtime/declare/state/document : requires-python|engines|>=3|
  >=18|minimum|msrv|rust-version|declared|최소 버전
mobile/app/android/ios/permission/notification/camera/location/권한 ask/context/request/deni/
  rationale/only/need/explain/거부 : requestpermission|rationale|denied|when~needed|after the|
  settings|not at launch|while in use|granted|on first use|거부하면|처음 사용할 때
mobile/phone/small/responsive/모바일/화면/작은 layout/check/test/screen/break/width/touch/확인/
  레이아웃 : @media|media query|grid|flex-wrap|min-width|max-width|sm:|md:|breakpoint|360|375|390|
  iphone|pixel|viewport|devtools|device mode|container query|모바일에서|좁은 화면
model/baselin/metric/result/improv/compar/score baseline/compar/naive/better/previous/simple :
  baseline|versus|dummyclassifier|naive|compared|against|last~model|majority|previous model|auc|
  기준 모델
model/llm/prompt/agent/gpt/모델/프롬프트 valid/schema/limit/budget/inject/eval/retry/timeout/cost/
  cache/fallback/검증 : json_schema|response_format|structured|zod|pydantic|max_tokens|max_turns|
  max_steps|tool_choice|temperature=0|system prompt|delimit|<document>|untrusted|eval|golden|
  promptfoo|judge|budget|tokens|prompt caching|cache_control|fallback|stop after
model/predict/serv/deploy/production drift/monitor/fallback/version/canary/shadow/rollback : drift|
  shadow|canary|version|fallback|psi|monitor|rollback|a/b|baseline|모니터링
model/score/metric/result/experiment varian/spread/interval/deviation/several/seeds/runs/noise/
  confidence/significan : ±|+/-|std|seeds|confidence interval|bootstrap|five runs|runs|folds|
  variance|편차|신뢰 구간
model/training/run/experiment/result seed/reproduc/version/track/log/param/hyper/record : seed|
  mlflow|wandb|random_state|manual_seed|config|hydra|commit hash|logged|params|dvc|시드
money/amount/price/currency/total/payment/금액/가격 float/decimal/cent/integer/minor/exact/precis/
  binary/실수/정수/소수 : decimal|cents|integer|minor unit|bigdecimal|numeric(|int|money(|no float|
  bigint|quantize|pence|정수|원 단위|데시멀
money/price/amount/currency/total/금액/가격 : decimal|bigdecimal|numeric(|cents|minor unit|bigint|
  integer|dinero|money(|intl.numberformat|half_up|half_even|rounding|largest remainder|no floats|원
  단위|정수
monotonic/duration/elapsed/measure clock : monotonic|perf_counter|performance.now|nanotime|instant|
  steady_clock|hrtime
motion/animation/animate/reduced : prefers-reduced-motion|matchmedia|reducedmotion|
  usereducedmotion|motion-safe|motion-reduce|transition: none
move/migrate/script/existing/stored/이미/저장된/옮기는 provide/rename/old/script/이름/스크립트 :
  migration|script|backfill|management command|one-off|converts|rake|마이그레이션|스크립트
mute/notification/conversation/알림 let/user/quiet/night/야간 : mute|silence|snooze|quiet hours|do
  not disturb|off switch|방해|야간|시 이후|음소거
n+1 queries/query/avoid/list/number : selectinload|select_related|prefetch|includes(|dataloader|
  queries (was|queries instead|in one query|two queries|3 queries|single query|batch|
  assertnumqueries|join|preload|쿼리 한
n+1/eager/prefetch/join/queries/쿼리 : select_related|prefetch_related|joinedload|selectinload|
  subqueryload|includes(|.include(|preload(|eager_load|dataloader|join fetch|@entitygraph|with(|in
  one query|one query|two queries|queries instead of|queries for|queries, was|down from|
  assertnumqueries|toplevel|쿼리가
narrow/viewport/mobile/small/phone/layout/모바일 check/test/screen/width/확인 : 320|360|375|390|
  iphone|pixel|viewport|phone|emulat|narrow|breakpoint|모바일
native/button/link/clickable element/div/native/semantic : <button|<a|button element|native|instead
  of div|role="button"|no more div|type="button"
network/port/database/service/bucket/server/public/내부/외부 private/internal/expos/restrict/
  public/access/firewall/block/공개/차단 : 127.0.0.1|security_group|cidr|private subnet|
  block_public|internal|not reachable|clusterip|networkpolicy|ufw|firewall|vpc|presigned|signed
  url|public_access|expose only|외부에서 접근|내부에서만
nginx/server/service/systemd/ssh/config/서버/설정 test/reload/validate/syntax/before/backup/check/
  전에/검사 : nginx -t|configtest|sshd -t|visudo|systemd-analyze|reload|--dry-run|promtool check|
  caddy validate|cp~.bak|second session|문법 검사
notebook/output commit/without/strip/clear : nbstripout|cleared|no output|stripped|jupytext|
  clear-output
null/none/undefined/nil/optional check/handl/guard/safe : is none|is not none|!= null|=== null|==
  null|??|?.|optional|if not|early return|option<|nil|null check|requirenonnull|널 체크|없으면
null/undefined/none/nil/missing/optional/empty/빈/없는 handle/check/guard/safe/crash/처리 : ?.|??|
  is none|is not none|== null|!= null|optional|if not|if (!|early return|default to|falls back|
  orelse|unwrap_or|some(|getordefault|.get(|len(|no longer crash|no longer panics|없으면|비어
  있으면
number/truncate/cut/limit/reply/message/text length/limit/characters/long : [:|cut at|characters|
  truncat|4096|4,000|slice(|substring|split
old/stale/expired/오래된/만료된/지난 delete/purge/remove/archive/periodically/삭제/정리/주기적 :
  cron|daily|every night|partition|older than|retention|ttl|lifecycle|pg_cron|지난|매일|매월|지웁|
  삭제|떼어
onboarding : onboarding|tour|first run
once/only/twice/두 process/event/notification/send/handled/run/charge/mail/used/token/link/알림/
  콜백/토큰/쓸/보내 : once|already|dedup|unique|seen|processed_|on conflict|idempot|used_at|event
  id|lock|setnx|insert~first|한 번만|이미|중복
open/streams/connections/socket/listeners/number/count limit/leak/count/regression/close :
  listenercount|limit|max|close|removeeventlistener|unsubscribe|leak|counts|semaphore|429
operator/user/error/visible visible/show/surface/make/message : banner|toast|alert|shown|status
  page|log|dashboard|red|message|surfac|displayed|badge
order/sequence/out message/event/deliver : partition key|sequence|version|ordered|fifo|by key|
  older~ignored|updated_at|timestamp|순서
order/sort/정렬 fix/stable/determin/고정/unique/tie : order by|, id|id desc|tie|sorted|stable|정렬
orm/model/schema sync/match/drift/together : autogenerate|makemigrations --check|in the same
  commit|prisma migrate|schema.prisma|no drift|model and migration|함께
out-of-range/range/reading/sensor/value fault/reject/treat/check/invalid : out of range|fault|
  clamp|reject|nan|invalid|error flag|limits|plausib
outbox/event/publish/dual commit/transaction/database/atomic/consist/after : outbox|same
  transaction|on_commit|after commit|after_commit|cdc|debezium|transactional|커밋
overload/busy/throttled/429/503 retry/hint/answer/client/status/after : retry-after|429|503|
  backoff|shed|too many
overwrit/clobber/exist file/output/data/target/destination/without : exists()|already exists|
  o_excl|'x'|"x"|-n|--force|refuses to overwrite|not overwrit|suffix|no clobber|backup|asks before|
  덮어쓰
packag/publish/release/wheel/artifact content/includ/check/file/install/clean/venv/smoke : twine
  check|npm pack|unzip -l|installed the wheel|clean venv|pip install dist|files:|tar tzf|package
  contents|smoke|설치해
page/header/show/display/보여/표시 each/name/zone/id/tax/avatar/time/기준/시간대/결과 : shows|
  shown|displays|header|label|printed|rendered|appears|{{|now reads|표시|보여|머리글
page/list/response/query/fetch/건수/목록/조회/대용량 limit/bound/batch/chunk/제한/나눠/나눈 :
  limit|page_size|at most|maximum|per page|batch|chunk|cursor|건까지|개까지|건씩|최대|페이지
pagin/page/list/offset/cursor/endpoint/result limit/page/cursor/stable/size/keyset/all/larg/
  unbounded/order : limit|cursor|page_size|offset|keyset|next_token|pagination|per_page|max~per
  page|next page|tie|(created_at, id)|페이지|커서
paginat/cursor/page/limit/페이지 : limit(|take:|skip:|first:|after:|cursor|nextcursor|next_cursor|
  page_size|per_page|pagenumberpagination|keyset|slice|50 per|100 per|at most 100|max 100|max 200|
  capped at|math.min(|한 번에 최대
pagination/페이지/페이지네이션/cursor list/목록/api/endpoint/나눈/둔다 : limit|offset|cursor|after|
  next|page|size=|페이지|커서
pars real/librar/proper/structured/instead/html/xml/json/csv/yaml : json.loads|json.parse|csv.|
  yaml.safe_load|beautifulsoup|lxml|ast.|parser|urlparse|new url(|library|tree-sitter|csv module|
  papaparse|defusedxml|파서
partial/hot/index query : where|partial|index|create index
partition/incremental/pipeline/load/etl/job rerun/idempot/replac/twice/overwrite/duplicate/again :
  overwrite|merge|delete~insert|partition|upsert|idempot|replace|same day|rerun|insert overwrite|
  멱등
password/login/attempt/brute/otp/code/endpoint/signup/reset/로그인/시도 limit/rate/throttl/lock/
  brute/per/account/ip/block/slow/횟수/제한 : rate limit|throttle|lockout|locked after|attempts|
  429|per account|per ip|per minute|limiter|axes|rack-attack|captcha|tries|delay|회 실패|분당|잠급|
  잠금|제한
password/비밀번호 hash/store/bcrypt/argon/plain/salt/slow/해시 : bcrypt|argon2|scrypt|pbkdf2|hash|
  set_password|make_password|passlib|salted|해시
password/비밀번호 hash/store/plain/salt/해시/저장 : argon2|bcrypt|scrypt|pbkdf2|password_hash(|
  hashpw|gensalt|set_password|cost 12|rounds|owasp|upgraded when the user next|rehash|passlib|
  devise|identity
path/file/travers/user/folder/directory insid/outsid/resolv/escape/contain/travers/normal/stay/
  under/within/confin/root : resolve()|is_relative_to|realpath|startswith(root|commonpath|..|
  traversal|outside~root|outside~refus|basename|secure_filename|filepath.clean|filepath.localiz|
  os.root|canonicalize|inside the|stays in|chroot|절대 경로|상위 경로|벗어나
path/separator/slash/backslash platform/windows/portab/os/cross/pathlib/join/hardcod : pathlib|
  path(|os.path.join|path.join|filepath.join|windows|posix|forward slash|pathbuf|os.sep|/ "
pause/sleep/wait between/requests/calls/batches : sleep(|delay|pause|between|per second|ms between|
  interval
payment/charge/card pend/fail/declin/reconcil/keep/stuck : 4000|declined|pending|reconcil|alert|
  timeout|webhook|sweep|retry
payment/charge/order/refund/webhook/post/create/request/submission/결제/주문 idempot/twice/double/
  duplicate/once/repeat/again/key/중복/멱등/두 : idempotency|idempotent|same key|unique|on
  conflict|already|dedup|processed before|seen|event id|only once|one charge|one order|disabled
  while|ignored~second|double click|key is|reus|멱등|중복|한 번만|이미 처리
performance/impact/effect/성능/효과/영향/전후/시간 measure/before/compare/check/측정/확인/비교/
  잰다/수치 : from~to|ms|before|after|faster|p95|benchmark|seconds|explain|k6|에서~로|초|측정|줄었|
  빨라
permission/mode/chmod/umask/own file/secret/key/privat/folder/director/socket : 0600|0o600|600|
  0700|700|chmod|umask|owner only|mode=|only~readable|권한 600
permission/workflow/token/iam/least/role/scope/privilege 최소/least/minimal/read/only/restrict/
  limit/narrow/scope : permissions:|contents: read|pull-requests: write|id-token|read-only|arn:|
  s3:getobject|no wildcard|scoped to|only what|readonly|cap_drop|nothing else|최소
permission/권한/role/auth check/denied/확인/검사/없는/인가 : 403|401|forbidden|@preauthorize|
  hasrole|policy|권한|isowner|guard
personal/pii/user/customer/privacy/개인정보/사용자 delete/erase/anonymi/minimi/export/retention/
  삭제/보관/익명/파기 : anonymi|pseudonym|erased|deleted|purged|nulled|hashed|retention|days|gdpr|
  forget|faker|synthetic|export~json|익명|파기|지웁니다|삭제됩니다|보관
personal/pii/개인정보 log/로그 : redact|mask|hash|주민|가립|가렸|마스킹|filter_parameters|scrub|
  정규식으로
personal/pii/개인정보/email/이메일 log/로그/delete/remove/지운/삭제/남기/mask : mask|redact|hash|
  ***|anonymi|deleted|scrub|pseudonym|user id only|filter|가립|가렸|마스킹|지웁|지웠|파기|익명|`*`
personal/private/account/page cache/shared : private|no-store|cache-control|vary|bypass
phony : .phony|phony
pin/lock/version/exact/고정 action/dependency/dependencies/image/base/install/의존성/이미지 :
  @sha256|sha|==|--frozen-lockfile|npm ci|--locked|--require-hashes|uv.lock|poetry.lock|
  package-lock.json|pnpm-lock|cargo.lock|go.sum|gemfile.lock|committed lockfile|digest|exact
  version|fixed version|full commit|다이제스트
pipe/recipe/make fail : pipefail|-o pipefail|.shellflags|set -e|.delete_on_error
plan/apply/terraform review/replacement/auto-approve/production/destroy/search : terraform plan|
  plan says|to destroy|plan -out|no replacement|must be replaced|saved plan|reviewed the plan|
  moved|0 to destroy
plan/approach/step/break/task first/before/state/small/share/outline/agree/propos : plan|steps|
  approach|first|agreed|outline|proposal|design|split|계획|단계
plan/index/실행/인덱스 explain/use/check/확인/사용/계획 : explain|index scan|seq scan|plan|인덱스
  스캔|실행 계획|range scan
plan/step/approach/outline/계획/단계 before/first/split/small/agree/write/먼저 : step 1|first step|
  1.|in three steps|the plan|phases|outlined|agreed on|단계로|순서는
plot/chart/figure/graph axis/label/unit/title/scale/colour : xlabel|ylabel|axis|title|units|legend|
  label|colorblind|starts at zero|set_xlabel|축
plugin/extension/hook register/unload/disable/isolat/load : entry point|registered|disabled|
  sandbox|unload|try/except|plugin
plural : plural|icu|ngettext|one {|other {|intl.pluralrules|count,
poll/background/tab/interval/refresh stop/hidden/pause/visible/reduce/backoff : visibilitychange|
  visibilitystate|document.hidden|refetchintervalinbackground|pagevisibility|paused|stops while|
  backoff|etag
poll/loop replace/notification/event/push/instead/sleep : listen|notify|websocket|sse|webhook|
  event|inotify|watch|epoll|push|condition variable|subscribe|long poll|callback|await
previous/last/old slot/version/data/good/image fall/keep/boot/load/fail : returns to|previous|swap|
  rename|yesterday|stays|a/b|kept|last good|rolled back
print/console/debug/log/디버그 remove/leave/left/production/제거/남기 : logger.|removed|deleted|no
  console|no print|logging.|log level|tracing|지웠|제거
privacy/consent/analytics/tracking/gdpr/personal/개인정보/동의 : consent|opt-in|before~consent|
  declined|anonymi|pseudonym|hashed|ip~truncated|retention|deleted after|export|erase|no cookies|
  dnt|동의|익명|파기
privacy/personal/pii/gdpr/sensitive/개인정보 log/mask/redact/anonym/delete/retention/minim/store/
  analytics/export/consent/test/encrypt : mask|redact|hash|pseudonym|anonym|deleted after|
  retention|consent|faker|synthetic|scrub|drop~email|encrypt|opt-in|no personal|without~name|user
  id only|only the id|가명|마스킹|동의|파기
privilege/root/sudo/escalat/become/권한 step/only/drop/need/minimal/least/token/job : become|
  only~tasks|permissions:|contents: read|user 1000|runs as|sudo only|setuid|capabilities|cap_drop|
  drop: all|nonroot|read-only|nothing else is granted|scoped
profil/render measure/count/before : profiler|renders|flamegraph|devtools|commits|ms
progress/long/operation show/feedback : prints a bar|spinner|eta|indicatif|tqdm|percent|line every|
  progress
property/hypothesis/round : hypothesis|quickcheck|fast-check|proptest|property|random input|round
  trip|roundtrip|round-trip
proxy/proxies/forwarded/client/ip/header/address trust/spoof/real/forged/rate : trusted|
  x-forwarded-for|proxies|real_ip|remote_addr|rightmost|proxyfix|num_proxies|last hop|
  set_real_ip_from|프록시
public/api/signatur/interfac keep/chang/stable/unchanged/compat/preserv/break : signature|public|
  unchanged|old name|alias|re-export|default value|optional|keyword|backward|deprecat|same name|
  none of the callers|callers~unaffected|시그니처|공개~그대로
public/exported/api/function/interface/공개 document/docstring/type/comment/example/문서 :
  docstring|jsdoc|tsdoc|/**|///|godoc|@param|javadoc|rustdoc|doc comment|documented
pull/request/pr/review open/ask/small/draft/screenshot/description/link : opened|draft|pr #|
  screenshot|description|reviewer|mr !|gh pr
push/force/rewrit/history branch/shared/main/release/force/lease : force-with-lease|pull request|
  merge request|new branch|not force|revert|protected
push/notification/token/device/알림 group/duplicate/token/expire/deep/link/silent/channel/
  permission : channel|group|thread-id|collapse|deep link|token~refresh|unregistered|fcm|apns|
  topic|묶
query/queries/slow/sql/쿼리/느린 plan/explain/index/optimi/improve/check/measure/계획/개선 :
  explain|analyze|seq scan|index scan|rows examined|buffers|query plan|from~ms|ms to|covering|
  composite|rewr|실행 계획
queue/backlog/buffer/channel/topic/대기열 bound/limit/full/size/overflow/backpressure/grow/depth/
  maximum/넘치 : maxsize|bounded|limit|503|429|full|drop|backpressure|max_length|prefetch|capacity|
  reject|high water|넘으면|가득|상한
queue/backlog/lag/consumer/worker/job monitor/alert/metric/depth/lag/age/watch : lag|depth|oldest|
  alert|metric|gauge|backlog|prometheus|cloudwatch|알림
queue/job/task/작업/큐 retry/fail/dead/재시도/실패 : retries|max_retries|backoff|dead|failed|
  재시도|횟수
queue/message/job/event/consumer/큐/메시지/이벤트 ack/commit/lost/lose/after/process/retry/dead/
  poison/order/duplicate/손실/처리 : manual ack|basic_ack|acks_late|enable_auto_commit=false|
  commitsync|commit()|after~is in the database|only after|once~is written|dlq|dead_letter|dead
  letter|redrive|x-dead-letter|maxreceivecount|visibility|nack|requeue|partition key|message group|
  outbox|처리한 뒤|처리가 끝난
"""
