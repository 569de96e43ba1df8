"""Topics of many fields, each by a pair of words.

See `lessons_kb.recall.ways` for how a line is read.
"""

from __future__ import annotations

WAYS = r"""
test/cover/테스트 reject/refus/deny/denied/stranger/malicious/attack/invalid/bad/forbidden/거부/
  거절/거부되 : rejected~test|test~403|test~401|raises|refused~test|stranger~test|unknown~test|
  pytest.raises|tothrow|status 400~test|denied~test|malicious~test|400~test|422~test|
  assertraises|rejects~test|거절~테스트|거부~테스트|403~테스트
test/cover/테스트 concurren/race/parallel/simultan/twice/two/double/동시/두 : threads~test|
  at once~test|parallel~test|gather|promise.all|concurrent~test|same time~test|barrier|
  executor~test|goroutine~test|twice~test|two~requests~test|sends it twice~test|동시에~테스트|
  두 번~테스트|스레드~테스트
test/cover/테스트 empty/none/zero/boundar/edge/limit/maximum/경계/빈/境界 : empty~test|zero~test|
  boundary~test|exactly~test|one more~test|max~test|limit~test|off-by-one~test|edge~test|
  none~test|0~test|parametrize|빈~테스트|경계~테스트|0건~test
test/cover/테스트 quote/comma/space/blank/special/unicode/emoji/character/name/nfd : quote~test|
  comma~test|o'brien~test|unicode~test|emoji~test|umlaut~test|é~test|spaces~test|apostrophe~test|
  semicolon~test|nfd~test|decomposed~test|newline~test|한글~테스트
test/cover timezone/dst/daylight/zone/leap/midnight/clock/month : dst~test|timezone~test|
  tz=~test|leap~test|midnight~test|march~test|october~test|feb~test|utc~test|zoneinfo~test|
  seoul~test|new_york~test|berlin~test|kst~test|freeze
test/테스트 network/real/live/external/outside/fake/mock/stub/service/외부/모의 : mock|fake|stub|
  responses|nock|respx|wiremock|vcr|msw|recorded|no network|does not touch the network|
  don't touch the network|in-memory|without network|httptest|모의|가짜
test/suite pass/run/whole/full/all/every/rerun/before/after/실행 : all tests|tests pass|suite|
  passed|green|pytest|npm test|go test|cargo test|make test|0 failed|ran the tests|whole suite|
  unchanged|tests are|specs pass|테스트가 모두|전체 테스트|통과
run/실행/돌린 test/suite/check/linter/테스트/검사 : pytest|npm test|go test|cargo test|make test|
  make check|tests pass|suite~pass|passed|green|ran the|mvn test|gradle|dotnet test|rspec|lint|
  tox|테스트를 돌|테스트 통과|통과했|모두 통과
contract/consumer/provider test/verif/fake : pact|contract test|schemathesis|recorded~against|
  provider~verif|dredd|spring cloud contract
flaky/intermittent/skip/ignor/quarantin/disab test/reason/issue/silenc/mark/cause : skip(|
  reason=|issue|quarantine|race|cause|not skipped|found the|because|xfail|flaky~#
red/fail without/first/before/against/test : fails without|red before|failed before|
  fails on the old|fails on main|saw it fail|first wrote|failing test|without the fix|stash|
  red first|실패하는
doc/comment public/function/method/explain/module/class : docstring|///|/**|documented|jsdoc|
  javadoc|rustdoc|godoc|doc comment|explains
commit split/small/separate/atomic/reviewable/logical/one/mix/size : commits|separate commit|
  own commit|one commit|split|two commits|three commits|commit by commit|stacked|git add -p|
  커밋을 나
commit/message conventional/why/reason/explain/break/reference/issue/format/prefix : feat|fix:|
  fix(|breaking change|why|refs|closes #|because|body|chore|conventional
merge/conflict/rebase/충돌 resolv/both/side/drop/author/other/test/ask : kept both|both sides|
  both changes|resolved|asked|merged by hand|rerere|compared|git diff|range-diff|양쪽
push/force/rewrit/history branch/shared/main/release/force/lease : force-with-lease|pull request|
  merge request|new branch|not force|revert|protected
branch/default/master rename/old/delete/stale/name : renamed|main|deleted|git branch|references
pull/request/pr/review open/ask/small/draft/screenshot/description/link : opened|draft|pr #|
  screenshot|description|reviewer|mr !|gh pr
vendor/fork/patch unmodified/small/version/note/document/upstream/licen : upstream|patch|vendor/|
  version|commit|untouched|unmodified|git subtree
undo/revert/restore/recover/trash/되돌/복구 user/action/delete/import/operation/삭제 : undo|
  trash|restore|deleted_at|soft|revert|toast|30 days|되돌|복구|휴지통|실행 취소
delete/deleting/deletion/remove/cleanup/overwrite/destruct/삭제/지우 confirm/ask/prompt/consent/
  warn/approv/before/확인/물 : confirm|prompt|asks|asked|are you sure|dialog|--yes|--force|
  type the|types the|went ahead after|agreed|ok from|modal|확인 창|확인을 받|물어|다시 묻
role/admin/관리자 check/require/restrict/only/protect/deny/reject/403/확인/거부/접근 : 403|
  requirerole|@roles|is_staff|isadmin|require_admin|role|hasrole|permission|policy|forbidden|
  admin only|only admin|역할|403을|권한
log/record/write/기록/로그/남 audit/attempt/denied/rejection/failure/failed/access/command/
  action/admin/감사/시도/거부/실패/작업 : audit|logged|logger|log.warn|recorded|written to|
  log line|event|warning|insert into|is logged|log_|writes~row|기록|남깁|남겼|로그
n+1 queries/query/avoid/list/number : selectinload|select_related|prefetch|includes(|dataloader|
  queries (was|queries instead|in one query|two queries|3 queries|single query|batch|
  assertnumqueries|join|preload|쿼리 한
assert/check/count/number query/queries : assertnumqueries|assert_num_queries|query count|
  queries instead|queries (was|django_assert|counts the queries|bullet
once/only/twice/두 process/event/notification/send/handled/run/charge/mail/used/token/link/알림/
  콜백/토큰/쓸/보내 : once|already|dedup|unique|seen|processed_|on conflict|idempot|used_at|
  event id|lock|setnx|insert~first|한 번만|이미|중복
stampede/dogpile/expire entry/prevent/cache : single flight|singleflight|lock|jitter|stale|
  only one~recompute|coalesc|early
reconnect/resume/재연결 event/last/after/missed/stream/state : last-event-id|last id|cursor|
  since=|replay|resum|offset|sequence|missed
time/runtime/duration/시간 limit/bound/max/제한 : timeout|killed after|seconds|deadline|cut off|
  minutes|ulimit|time limit|초|분
job/scheduled/cron/task/batch/작업/배치 dead/switch/miss/fail/silent/stop/알림/실패 :
  healthchecks|ping|heartbeat|on_failure|onfailure|slack|mail|pager|alert|sentry|notif|alarm|
  슬랙|알림|메일
alert/notify/page/somebody/warn/알림/경보/알린 fail/grow/empty/stays/stuck/inactive/old/full/
  high/error/장애/실패/차면/나면 : alert|alarm|pager|slack|mail|paged|prometheus|cloudwatch|
  opsgenie|notif|fires when|threshold|telegram|sentry|슬랙|알림|알람|메일|문자
expose/report/export/track/count/measure metric/rate/length/size/lag/hit/usage/often/option/depth
   : metric|gauge|counter|histogram|prometheus|/metrics|dashboard|statsd|scraped|otel|panel|
  grafana|지표
privilege/root/sudo/escalat/become/권한 step/only/drop/need/minimal/least/token/job : become|
  only~tasks|permissions:|contents: read|user 1000|runs as|sudo only|setuid|capabilities|
  cap_drop|drop: all|nonroot|read-only|nothing else is granted|scoped
kubernetes/network/policy/firewall deny/default/allow/restrict/egress/ingress : networkpolicy|
  default-deny|policytypes|deny all|ufw default deny|allow only|security group
tag/latest/floating/manifest/image digest/pin/avoid/floating/kubernetes/immutable : @sha256|
  digest|pinned|:1.|:v1|imagepullpolicy|no longer latest|not latest
checksum/hash/signature/integrity/verify download/binary/binaries/file/wrapper/distribution/
  archive/artifact/release : sha256|checksum|shasum|gpg --verify|cosign|integrity=|
  distributionsha256sum|minisign|-c
disk/space/free check/before/enough/full : df|statvfs|disk_usage|free space|enospc|gb free|
  available|space
snapshot/backup/copy/save/current/저장/백업 before/destructive/change/changing/step/upgrade/
  delete/first/전에/바꾸기 : snapshot|backup|pg_dump|mysqldump|dump|copied|cp|.bak|saved~to|
  exported|s3|restic|etcdctl snapshot|tar|before~made|백업|덤프|내려받아|복사
roll/롤백 script/way/plan/procedure/provide/prepare/test/have/tried/절차/준비/시험 : rollback|
  roll back|down.sql|downgrade|revert|undo|back to|previous version|rolled back|one command|
  switch back|flag off|helm rollback|롤백|되돌
partial/hot/index query : where|partial|index|create index
etag/lost/concurrent/update/edit detect/conflict/version/optimistic/way : etag|if-match|412|428|
  409|version|lock_version|updated_at|rowversion|optimistic
overload/busy/throttled/429/503 retry/hint/answer/client/status/after : retry-after|429|503|
  backoff|shed|too many
unit name/state/duration/size/field/variable : _ms|_seconds|_bytes|timeoutms|in seconds|suffix|
  _s$|_mb|duration
monotonic/duration/elapsed/measure clock : monotonic|perf_counter|performance.now|nanotime|
  instant|steady_clock|hrtime
format/style code/language/changed/file/own : gofmt|black|prettier|ruff format|rustfmt|cargo fmt|
  clang-format|dotnet format|formatted|spotless|go fmt
lock regenerate/install/file/update/commit/changing/dependenc : npm ci|poetry lock|uv lock|
  package-lock|cargo.lock|go mod tidy|pnpm-lock|bundle lock|frozen|--locked|yarn.lock|lock file|
  pip-compile|lockfile
unused/unneeded/dead/superfluous depend/package/export/import : depcheck|knip|uninstall|
  npm uninstall|removed|cargo machete|cargo-udeps|vulture|ts-prune|go mod tidy|deptry|
  dropped from
poll/loop replace/notification/event/push/instead/sleep : listen|notify|websocket|sse|webhook|
  event|inotify|watch|epoll|push|condition variable|subscribe|long poll|callback|await
scanner/vulnerability/vulnerabilities/severity/cve/audit/advisory/advisories/취약점 stop/build/
  fail/block/scan/high/check/look/image/depend/검사/이미지 : exit-code: 1|--exit-code|
  fails the build|trivy|grype|npm audit|pip-audit|cargo audit|snyk|0 vulnerab|osv|no advisories|
  advisory|dependabot|blocks|govulncheck|취약점
operator/user/error/visible visible/show/surface/make/message : banner|toast|alert|shown|
  status page|log|dashboard|red|message|surfac|displayed|badge
coordinator/scheduler/replica/instance/leader one/only/single/once : leader|lock|advisory|
  replicas: 1|singleton|lease|election|only~runs|redlock|zookeeper|etcd
tenant/id/filter/scope every/each/query/queries/pass : tenant_id|where tenant|scoped|rls|
  row level|default scope|with_tenant|set_config|filter(tenant
invitation/invite/link/expired/old/reset/request/code/만료/재설정/오래된 reject/expire/refuse/
  만료/거부/만료된 : expired|expires_at|410|too old|no longer valid|ttl|hours|minutes|max_age|
  valid for|시간 뒤|분이 지나|만료
deprecat/remov/endpoint/old/name/option/예전/이전 announc/date/notice/warn/tell/time/알린/시점 :
  deprecat|sunset|warning|removed in|will be removed|announced|changelog|mailed|from version|
  header|까지|제거 예정|버전에서
confidence/interval/spread/deviation/variance report/mean/fold/several : ±|+/-|std|bootstrap|
  confidence|interval|deviation|per fold|min and max|quartile
out-of-range/range/reading/sensor/value fault/reject/treat/check/invalid : out of range|fault|
  clamp|reject|nan|invalid|error flag|limits|plausib
native/button/link/clickable element/div/native/semantic : <button|<a|button element|native|
  instead of div|role="button"|no more div|type="button"
alt/image/이미지/대체 text/descri/텍스트 : alt=|alt text|aria-label|대체 텍스트|alt
translat/string/text/message/문구/번역 external/file/key/miss/fall/default/hardcod/separate/파일/
  분리/검사 : t('|i18n|messages.|gettext|_(|locales/|resource|bundle|fallback|default language|
  lang file|en.json|ko.json|strings.xml|메시지 파일|번역 파일
narrow/viewport/mobile/small/phone/layout/모바일 check/test/screen/width/확인 : 320|360|375|390|
  iphone|pixel|viewport|phone|emulat|narrow|breakpoint|모바일
empty/list/비었/빈 state/screen/show/화면 : empty state|no results|nothing|no items|placeholder|
  "no|빈 화면|없습니다|결과가 없
disable/비활성 button/submit/while/pending/버튼/중 : disabled|aria-disabled|ispending|loading|
  pending|비활성|누를 수 없
stale/late/old/outdated/늦게 response/result/answer/ignore/응답/무시 : abort|request id|latest|
  ignored|discard|cancel|sequence|takelatest|switchmap|무시|취소
lazy/defer/지연 load/image/이미지/로딩 : loading="lazy"|lazy|intersectionobserver|import(|
  on demand|지연
main/ui/thread off/load/heavy/work/block/images : background|worker|dispatchers.io|executor|
  async|queue|off the main|to_thread|coroutine|isolate
profil/render measure/count/before : profiler|renders|flamegraph|devtools|commits|ms
page/header/show/display/보여/표시 each/name/zone/id/tax/avatar/time/기준/시간대/결과 : shows|
  shown|displays|header|label|printed|rendered|appears|{{|now reads|표시|보여|머리글
config/setting/설정 effective/print/read/from/configurable/make/file/variable/파일/뺀다 : config|
  settings|env|yaml|toml|flag|option|getenv|parameter|--print-config|properties|설정 파일|
  설정으로|환경 변수
shared/common/same code/function/feature/training/serving/place/setting/every : one function|
  same function|shared|common|imported by both|both use|one place|single|package|goes through|
  go through|공통|한 곳
known/accept/allow/only column/names/values/type/field : allowlist|allowed_|in allowed|enum|
  literal[|whitelist|mapping|one of|set of|fixed list|400
length/size/input/depth/unpacked/recursion/regex bound/limit/check/max : max_length|maxlen|limit|
  at most|maximum|> max|rejects~larger|413|depth|bytes|cap$|capped|truncat|too long|too large|
  max_depth|이하
page/list/response/query/fetch/건수/목록/조회/대용량 limit/bound/batch/chunk/제한/나눠/나눈 :
  limit|page_size|at most|maximum|per page|batch|chunk|cursor|건까지|개까지|건씩|최대|페이지
pause/sleep/wait between/requests/calls/batches : sleep(|delay|pause|between|per second|
  ms between|interval
robots/crawl/scrape/site respect/robots/429/stop : robots.txt|robotparser|retry-after|429|
  crawl-delay|user-agent
approv/승인 deploy/production/require : environment:|reviewers|approv|manual gate|when: manual|
  protected|승인
plan/apply/terraform review/replacement/auto-approve/production/destroy/search : terraform plan|
  plan says|to destroy|plan -out|no replacement|must be replaced|saved plan|reviewed the plan|
  moved|0 to destroy
failover/standby/replica/slot test/fail/boot/rebuilt/previous : killed|failover|promoted|
  switch took|patroni|a/b slot|boot counter|fell back|repmgr|pg_rewind
dns/lookup/ip/private/rebind resolv/check/pin : resolve|private|pinned ip|allowlist
cursor/deleted/selection/caret/undo handle/assert/keep/position : cursor|selection|caret|
  restores|position|range
open/streams/connections/socket/listeners/number/count limit/leak/count/regression/close :
  listenercount|limit|max|close|removeeventlistener|unsubscribe|leak|counts|semaphore|429
second/connection/nested acquire/hold/never : same connection|passed in|one connection|
  single connection|releases~before|nested
payment/charge/card pend/fail/declin/reconcil/keep/stuck : 4000|declined|pending|reconcil|alert|
  timeout|webhook|sweep|retry
event/socket/message authenticat/accept/before/unknown/type/ignore/valid/incoming : token|
  handshake|auth|closed with|4401|ignored|default:|schema|zod|validates|unknown type|switch
wipe/clear/remove/revoke/세션/기존 token/session/sign-out/logout/password/끊 : cleared|removed|
  keychain|deleteitem|removeitem|revoked|invalidated|clear()|logged out everywhere|
  delete~sessions|token_version|session_version|세션을 모두|세션~삭제|로그아웃
attempt/failures/failed/repeated/로그인 lock/account/block/log/제한/잠 : locked|lockout|
  after~attempts|after~failures|429|blocked|throttle|axes|per account|minutes|회 실패|잠급|잠금|
  잠깁
record/tenant/other/another/타인/다른 404/access/answer/test/deny : 404|403|other tenant|
  other user|two tenants|another account|belongs|scope
personal/pii/개인정보/email/이메일 log/로그/delete/remove/지운/삭제/남기/mask : mask|redact|hash|
  ***|anonymi|deleted|scrub|pseudonym|user id only|filter|가립|가렸|마스킹|지웁|지웠|파기|익명|
  `*`
metadata/exif/메타데이터 strip/remove/image/photo/제거/이미지 : exif|strip|re-encod|
  metadata~removed|gps|without metadata|withmetadata|메타데이터|위치 정보
secret/key/키/api client/browser/클라이언트/frontend/app/bundle : server|proxy|not sent|backend|
  no longer in the|env|서버로 옮|서버에서|내려가지
sql/쿼리/문자열 concat/input/입력/이어 : bind|parameter|placeholder|prepared|%s|$1|orm|바인딩|
  파라미터|매개변수
lock/잠금/잠근/쿠폰/행 row/once/use/사용/한 : for update|select_for_update|lock|unique|advisory|
  update~where|행 잠금|잠그|잠급|한 번만
order/sort/정렬 fix/stable/determin/고정/unique/tie : order by|, id|id desc|tie|sorted|stable|
  정렬
cache/캐시 key/키 user/identifier/lock/hash/사용자/식별자/해시/include/포함 : user_id|user id|
  hashfiles|key:|keyed by|cache key|per user|키에|hash of|lock file|사용자 id
announce/tell/inform/notify/channel/알린/공지 deploy/release/maintenance/result/배포/점검/결과 :
  posted|slack|channel|mailed|announc|status page|told|webhook|메시지|슬랙|공지|알렸|채널
delivery/result/send/발송 record/log/store/preview/기록/미리보기/결과 : message id|status|
  recorded|stored|log|preview|bounced|상태|저장|기록|미리보기
unsubscrib/deactivat/탈퇴/수신 mail/delete/user/회원/메일/거부/사용자 : unsubscrib|one click|
  list-unsubscribe|deactivated|where active|excluded|suppression|token in the link|탈퇴|제외|
  지웁|삭제|수신 거부
scroll/back/뒤로/스크롤 position/restore/keep/유지/위치 : scrollrestoration|scroll position|
  sessionstorage|restores|복원|위치
move/migrate/script/existing/stored/이미/저장된/옮기는 provide/rename/old/script/이름/스크립트 :
  migration|script|backfill|management command|one-off|converts|rake|마이그레이션|스크립트
async/queue/background/비동기/큐 callback/webhook/process/heavy/콜백/처리/넘겨 : queue|enqueue|
  worker|background|delay(|celery|202|job|큐에|워커|비동기
type/타입/any error/check/cast/narrow/오류/검사 : mypy|tsc|type guard|is string|typeof|unknown|
  assertnever|zod|no any|pyright|instanceof|generic|satisfies|타입 가드|타입 검사
ci/pipeline depend/cache/types/missing/keys/boundar/run/check/검사/캐시/돌린 : workflow|.github|
  ci|job|step|actions/cache|pipeline|gitlab|import-linter|required|ci에
performance/impact/effect/성능/효과/영향/전후/시간 measure/before/compare/check/측정/확인/비교/
  잰다/수치 : from~to|ms|before|after|faster|p95|benchmark|seconds|explain|k6|에서~로|초|측정|
  줄었|빨라
memory/usage/메모리 check/measure/leak/확인/사용 : heap|rss|mb|profil|flat|stays|devtools|메모리
start/end/시작/끝/실행 time/log/record/시각/시간/기록/남 : took|duration|started|finished|
  elapsed|logged|start~end|시작~종료|걸린|소요
slow/느린 query/log/쿼리/알림 : slow query|log_min_duration|pg_stat|alert|알림
hide/expired/숨긴/만료된/만료 list/coupon/목록/쿠폰 : filter|where~>|expires|excluded|hidden|숨|
  제외|만료
consent/동의 record/before/ask/first/cookie/analytics : consent|asks|dialog|permission|banner|
  opt-in|agreed|동의
mute/notification/conversation/알림 let/user/quiet/night/야간 : mute|silence|snooze|quiet hours|
  do not disturb|off switch|방해|야간|시 이후|음소거
device/iphone/phone/sensor/real/physical try/test/real : on a real|on my|pixel|iphone|device|
  hardware|board|samsung|실기기
reset/recover device/stop/hang/answer : reset|power cycle|reconnect|reopen|watchdog|reinit
read/setting/verify/writing device/back/after/register : read back|reads back|readback|compares|
  verify
notebook/output commit/without/strip/clear : nbstripout|cleared|no output|stripped|jupytext|
  clear-output
pipe/recipe/make fail : pipefail|-o pipefail|.shellflags|set -e|.delete_on_error
docker/history/layer/image secret : --mount=type=secret|docker history|buildkit|no secret|dive|
  multi-stage
edge/cdn/listing/public cache : s-maxage|cloudflare|cdn|surrogate|cache-control|varnish|fastly
incident/status/outage update/page/game/rehearse/customers/credit : status page|statuspage|
  posted|game day|rehearsed|drill|credited|refund
dashboard version/code/control : jsonnet|grafonnet|terraform|as code|in git|json in|provision
decimal/money/float string/build/never : decimal("|decimal(str|decimal(text|from a string|
  from strings|bigdecimal("|quantize
ack/확인 message/after/process/메시지/처리 : ack|after~done|acks_late|manual|commitsync|
  처리가 끝난
recording/microphone/camera/media release/stop/end/length/bound : .stop()|tracks|turns off|
  released|stops after|indicator|60 s|closes|minutes
lose/loss/lost/drops network/recording/data/draft/connection : indexeddb|localstorage|resum|
  retry|buffer|kept until|queue|upload again|saved locally|persist
"""
