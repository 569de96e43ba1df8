"""Topics from d to g, by their first word.

See `lessons_kb.recall.ways` for how a line is read.
"""

from __future__ import annotations

WAYS = r"""
dark/theme/color/colour/다크/테마/색 mode/contrast/token/variable/all/define/모드/대비 :
  prefers-color-scheme|dark:|data-theme|var(--|css variable|tokens|color-scheme|contrast|다크 모드|
  변수로
dashboard version/code/control : jsonnet|grafonnet|terraform|as code|in git|json in|provision
data/input/source/file/schema/feed/column/export/ingest/pipeline valid/check/schema/expect/
  contract/quality/assert/test/null/type : great expectations|pandera|schema|dbt test|not_null|
  assert|row count|null share|dtype|validat|expects|pydantic|checks~columns|raises if|스키마|검증
date/time/day/range/period/interval/month/기간/날짜 inclus/exclus/half/end/open/bound/off/경계 :
  half-open|< end|>= start|exclusive|inclusive|next day|midnight|[start, end)|between|자정|미만|
  이상
date/time/시간/날짜/시각 utc/zone/aware/locale/store/display/format/offset/dst/시간대/표시/저장 :
  timezone.utc|datetime.now(|utcnow~gone|timestamptz|toisostring|instant.now|offsetdatetime|
  zoneddatetime|zoneinfo|luxon|date-fns-tz|temporal.|intl.datetimeformat|at time zone|use_tz|iso
  8601|with its offset|in the user's zone|user's own zone|asia/seoul|europe/|america/|한국 시간|
  현지 시간
dead/poison test/path/try : sent one|broken message|arrive|dlq|dead letter|deadletter
dead/unused/legacy/obsolete/duplicate/commented code/dependency/dependencies/file/import/export/
  flag/css/logic : deleted|removed|knip|ts-prune|depcheck|vulture|unimported|purgecss|gone|lines
  less|fewer lines|one helper|extracted|shared|single source|now import|both call|삭제
dead/unused/orphan/leftover/obsolet/stale code/function/import/file/branch/variabl/helper/class/
  flag/depend : removed|deleted|unused|vulture|knip|no longer referenced|ruff|ts-prune|dead code|
  git rm|gone|no hits|미사용|안 쓰
deadline/context/timeout propagat/pass/downstream/call/forward : ctx|handed on|passed on|propagat|
  forwarded|remaining|deadline|grpc-timeout|전파|넘겨
deadline/timeout/time-out/타임아웃 : timeout|deadline|after~seconds|seconds|withtimeout|
  abortsignal|gives up after|statement_timeout|wait_for|socket_timeout|read_timeout|max-time|초 뒤|
  초 안에|초가 지나|타임아웃|제한 시간
deadlock/serialization/conflict retry/retri/victim/again : 40p01|40001|1213|retried|retry|deadlock|
  serializationfailure|다시 시도|재시도
debounce/throttle/keystroke/typing/scroll/resize/디바운스/입력 : usedebounce|usedeferred|debounce(|
  throttle(|settimeout|cleartimeout|requestanimationframe|lodash|after the last keystroke|stops
  typing|paused for|ms of silence|ms|밀리초|입력이 멈
debounce/디바운스 : debounc|settimeout|ms after|300 ms|250 ms|200 ms|cleartimeout|after typing|
  pause in typing|밀리초|입력이 멈|디바운스
decimal/money/float string/build/never : decimal("|decimal(str|decimal(text|from a string|from
  strings|bigdecimal("|quantize
decision/adr/design/choice/trade/alternative record/document/write/note/why/reason : adr|decision|
  docs/adr|because|chose|considered|trade|design doc|결정
default missing/configuration/value/provide : falls back to|default|getenv(|or default|without~no
  longer|??|unless set
delete/deleting/deletion/remove/cleanup/overwrite/destruct/삭제/지우 confirm/ask/prompt/consent/
  warn/approv/before/확인/물 : confirm|prompt|asks|asked|are you sure|dialog|--yes|--force|type
  the|types the|went ahead after|agreed|ok from|modal|확인 창|확인을 받|물어|다시 묻
delete/deletion/remove/cascade/orphan/삭제 record/rows/data/child/soft/related/데이터/연관 : on
  delete cascade|cascade|dependent: :destroy|orphanremoval|deleted_at|soft delete|restrict|set
  null|in one transaction|cleaned up|함께 삭제|연관
delivery/result/send/발송 record/log/store/preview/기록/미리보기/결과 : message id|status|recorded|
  stored|log|preview|bounced|상태|저장|기록|미리보기
depend/packag/librar licen/maintain/trust/popular/size/need/justif/necess : license|mit|apache|bsd|
  maintained|downloads|stars|weekly|last release|kb|no new dep|standard library|already|라이선스
depend/packag/librar/update/upgrade/bump changelog/break/release/notes/migration/guide/major/
  advisor/read : changelog|release notes|breaking|migration guide|upgrade guide|none of~affect|
  audit|advisory|went through|변경 사항|릴리스 노트
depend/packag/librar/update/upgrade/bump one/separate/single/time/individual/own/unrelated : only|
  one at a time|separate|single|alone|own commit|own pr|just|rest of the lock|하나씩|만 올
dependency/dependencies/package/library avoid/new/trivial/add/no/without : no other dep|no new dep|
  stdlib|standard library|removed~package.json|built-in|vendored|wrote~lines|no dependency
dependency/dependencies/package/library/의존성/패키지 add/new/upgrade/audit/licen/vulnerab/size/
  update/취약점 : npm audit|pip-audit|cargo audit|osv|snyk|dependabot|renovate|mit|apache-2|bsd|
  license|weekly downloads|maintained|kb|bundlephobia|changelog|release notes|breaking changes|no
  new dep|bumped|advisory
deploy/release/migration/change/prod/maintenance/downtime/배포 announc/notif/tell/inform/window/
  friday/time/customer/team/warn/공지 : announc|status page|slack|maintenance window|posted|told|
  mail|informed|heads-up|night|ahead|calendar|change ticket|공지|알렸
deploy/release/rollout/change/배포 roll/back/revert/undo/plan/previous/되돌/롤백 : rollback|rollout
  undo|previous image|previous version|helm rollback|revert|one command|back in|feature flag|blue/
  green|undo|old~kept|이전 버전|되돌|롤백
deploy/release/rollout/change/배포 verify/smoke/check/after/monitor/watch/health/error/확인/지켜 :
  smoke|curl|health|watched|dashboard|error rate|/version|after the deploy|no errors|logs~clean|
  rollout status|synthetic|확인|지켜봤
deploy/release/rollout/feature/change/배포 gradual/canary/percent/stage/slowly/small/first/subset/
  단계/점진 : canary|5 %|10 %|percent|5%|10%|1%|staged|gradual|internal users|one region|ring|
  blue-green|phased|first~then|%부터|점진|단계
deploy/release/rollout/배포/릴리스 rollback/revert/canary/gradual/smoke/verify/announce/monitor/
  health/watch/plan/롤백/점진/확인/공지 : rollout undo|helm rollback|vercel rollback|previous
  release|former build|flag off|blue/green|canary|1 %|5 %|10 %|of traffic|smoke|healthy|/healthz|
  watched|error rate|dashboard|sentry|status page|posted|#deploy|#release|told|rolled out|in waves|
  first~then everyone|되돌|지켜봤|공지
deprecat/old/legacy/removed api/call/function/usage/warning : -w error|filterwarnings|no
  deprecation|replaced|new api|migrat|warning~gone|경고
deprecat/remov/endpoint/old/name/option/예전/이전 announc/date/notice/warn/tell/time/알린/시점 :
  deprecat|sunset|warning|removed in|will be removed|announced|changelog|mailed|from version|
  header|까지|제거 예정|버전에서
deprecat/remove/old/compat/backward/legacy/rename/호환/예전 api/option/prop/name/field/endpoint/
  function/client/이름/필드 : @deprecated|deprecat|console.warn|warnings.warn|alias|re-export|still
  works|still accepted|both names|old~keeps working|old~still|optional|default~unchanged|overload|
  codemod|nobody's code breaks|existing~keep|until v|sunset|선택 사항|기존 클라이언트
device/iphone/phone/sensor/real/physical try/test/real : on a real|on my|pixel|iphone|device|
  hardware|board|samsung|실기기
dialog/modal/overlay/popup/menu/drawer close/esc/trap/focus/outside/label : escape|esc|focus|
  aria-modal|showmodal|<dialog|inert|returns|backdrop|headless|radix|esc로
directory/listing/version/banner/header server/disable/hide/nginx : autoindex off|server_tokens
  off|options -indexes|expose_php|x-powered-by|fingerprint
disable/비활성 button/submit/while/pending/버튼/중 : disabled|aria-disabled|ispending|loading|
  pending|비활성|누를 수 없
disk/space/free check/before/enough/full : df|statvfs|disk_usage|free space|enospc|gb free|
  available|space
dns/lookup/ip/private/rebind resolv/check/pin : resolve|private|pinned ip|allowlist
doc/comment public/function/method/explain/module/class : docstring|///|/**|documented|jsdoc|
  javadoc|rustdoc|godoc|doc comment|explains
docker/container/image/컨테이너/이미지/도커 root/user/small/size/stage/layer/secret/health/pin/slim
  : user node|user app|user 10|useradd|adduser|nonroot|distroless|alpine|slim|as build|copy --from|
  multi-stage|.dockerignore|--mount=type=secret|healthcheck|@sha256|mb|runasuser|runasnonroot|일반
  사용자|멀티 스테이지
docker/history/layer/image secret : --mount=type=secret|docker history|buildkit|no secret|dive|
  multi-stage
docker/image/base/container/이미지 pin/tag/digest/version/latest/fixed/고정 : @sha256|digest|
  pinned|:3.12|-slim|bookworm|not latest|instead of latest|specific tag|:20|:22|:1.|고정
docker/image/build/layer/이미지 cache/order/layer/copy/fast/dockerignore : copy package|copy
  requirements|before~copy|--mount=type=cache|.dockerignore|buildx|layer|cache-from|순서
docker/image/container/depend/vulnerab/cve/취약점 scan/vulnerab/cve/trivy/audit/check : trivy|
  grype|snyk|npm audit|pip-audit|cargo audit|0 vulnerab|cve|dependabot|osv|govulncheck|스캔
docker/image/container/이미지 small/slim/size/stage/multi/minimal/layer/크기 : multi-stage|as
  build|--from=|slim|alpine|distroless|mb|.dockerignore|smaller|--no-cache|scratch|멀티 스테이지
docker/image/container/컨테이너/이미지 root/user/nonroot/privilege/unprivileg/루트 : user 1000|user
  app|user node|user nonroot|nonroot|non-root|runasnonroot|adduser|useradd|distroless|uid|rootless|
  비루트|일반 사용자
document/docs/readm/example/command/snippet/code run/work/test/execut/verify/copy/try : doctest|ran
  every|tried|copy-pasted|executed|works as written|mdx|tested|output is|실행해
document/docs/readm/link/url broken/check/valid/dead/work : lychee|linkcheck|link check|no broken|
  checked~links|all links|링크
document/docs/readme/문서 update/write/describe/explain/example/run/setup/new/api/option/추가/반영/
  설명 : readme|docs/|mdx|storybook|jsdoc|tsdoc|docstring|openapi|swagger|wiki|guide|example|code
  sample|how to|section|table of|--help|usage|contributing|adr|runbook|man page|문서에|위키|예시
document/docs/screenshot/picture/diagram/video updat/current/new/alt : screenshot|new picture|
  mermaid|re-recorded|alt|diagram|updated|캡처
document/문서 change/변경/update/반영/api/사항 : readme|docs|openapi|wiki|changelog|문서|위키|
  스웨거|안내
downgrade/version/older refuse/reject/prevent : min_version|backwards|anti-rollback|older version|
  version counter|rejects
dry/preview/미리보기 : dry run|dry-run|--dry|preview|would be|would have|-n|simulat|what-if|lists
  what|terraform plan|미리보기|시험 실행
duplicat/copy/repeat code/logic/helper/function : extract|shared|one function|helper|common|reuse|
  single place|both call|dedup|공통 함수|중복 제거
duplicate/copy/repeat/중복 code/logic/helper/function/extract/remove/코드/로직/제거 : one helper|
  one function|shared helper|extracted|moved into|both use|both call|all three|three copies|now
  import|single place|in one place|dry|lines fewer|공통|하나로
edge/cdn/listing/public cache : s-maxage|cloudflare|cdn|surrogate|cache-control|varnish|fastly
effect/listener/timer/subscription/interval/observer/socket/구독/타이머 clean/remove/unmount/
  unsubscribe/leak/destroy/stop/해제/정리 : return () =>|removeeventlistener|clearinterval|
  cleartimeout|.unsubscribe()|.disconnect()|.close()|ondestroy|onunmounted|onbeforeunmount|
  takeuntildestroyed|abort()|signal|ondispose|dispose()|정리 함수|해제
email/mail/newsletter/메일 bounce/unsubscrib/spf/dkim/dmarc/plain/spam/html/text/수신 :
  list-unsubscribe|unsubscribe|spf|dkim|dmarc|bounce|suppression|text/plain|multipart|complaint|
  수신 거부
email/mail/notification/message/sms/메일/알림 test/real/sandbox/address/stag/customer/send/
  production/dev/실제 : mailhog|mailpit|sandbox|console backend|locmem|allowlist|test address|
  catch-all|redirected|outbox|example.com|테스트 주소
empty/list/비었/빈 state/screen/show/화면 : empty state|no results|nothing|no items|placeholder|
  "no|빈 화면|없습니다|결과가 없
empty/zero/blank file/input/handle/case : zero-byte|zero byte|empty|blank|header only|no rows|0
  rows
encod/utf/unicode/charset file/read/open/write/explicit/text/specif : encoding="utf-8"|
  encoding='utf-8'|utf-8|utf8|charset|bom|decode(|인코딩
encrypt/crypto/암호화 rest/transit/backup/data/disk/key/at/field/백업/데이터 : aes-256|aes-gcm|
  fernet|kms|sse|age|gpg|tls|https|luks|pgcrypto|sealed|libsodium|secretbox|encrypted|암호화
enum/state/status prefer/free/string : enum|literal|union type|check (|sealed|values now|type~with
enumerat/exist/email/account/reveal/가입/존재 response/message/same/differ/login/reset/응답/노출 :
  same message|same answer|same response|same status|identical|generic|whether or not|regardless|
  does not tell|doesn't reveal|always 200|constant time|같은 응답|같은 메시지|동일한 메시지
env/config/settings/variable/설정/환경 valid/check/start/boot/fail/missing/required/early/검증/시작
  : envalid|znv|t3-env|getorthrow|must_get|mustgetenv|required(|refuses to boot|won't start|does
  not start|exits with code 1|exit code 1|before~binds|before the server|missing or malformed|names
  the missing|list of the offenders|keyerror|fatal|viper|@configurationproperties|@validated|
  validateonstart|env.str(|environ[|시작하지 않|종료
error check/ignor/handl/unchecked/return : if err != nil|errcheck|? operator|return err|unwrap|try/
  catch|try {|except|.catch(|is checked|check=true|set -e|result<|catch (
error exit/status/code/nonzero : exit 1|exit code|non-zero|nonzero|sys.exit|process.exit|os.exit|
  status 1|exits with|종료 코드
error/exception context/wrap/caus/chain/origin : raise~from|from exc|from err|%w|.context(|
  with_context|wrapped|cause|errors.wrap|{ cause|fmt.errorf|anyhow|원인을 포함
error/exception/failure/오류/예외/실패 log/report/swallow/silent/surface/propagate/handle/catch/
  rethrow/user/로그/처리/삼키 : raise|rethrow|throw err|throw new|logger.exception|
  captureexception|sentry|console.error|log.error|errgroup|err != nil|return err|fmt.errorf|%w|
  except~as|.catch(|onerror|errorboundary|bubbles up|no longer swallowed|used to vanish|surfaces|
  toast|exit code|non-zero|호출한 쪽
error/exception/예외/오류 log/record/기록/로그/남긴/handle/처리 : logger.error|log.error|exc_info|
  logger.exception|sentry|로그|기록|catch
error/message helpful/name/say/tell/clear/actionabl/next/which/offend/user : message~name|names
  the|says which|says what|tells~what|with the line|line number|expected~got|did you mean|hint|how
  to|instead of a traceback|instead of a stack|readable|what to do|안내 메시지|어떤~인지
error/message/오류/메시지 helpful/clear/user/actionable/tell/name/which/friendly/안내/명확 : names
  the|tells you|says what|says which|tells the user|what to do next|hint:|did you mean|expected|
  instead of a stack|instead of "|friendly|readable|which row|which field|안내|문구
error/message/오류/메시지 which/field/어떤/필드/clear/name : which field|per field|names the|어느
  필드|필드별|path:|loc
etag/lost/concurrent/update/edit detect/conflict/version/optimistic/way : etag|if-match|412|428|
  409|version|lock_version|updated_at|rowversion|optimistic
eval/exec/dynamic/arbitrary code/input : ast.literal_eval|literal_eval|no eval|eval~gone|parser|
  dispatch table|json.parse|allowlist|lookup table|mapping
event/message/job/handler/consumer/delivery/task/이벤트/메시지 idempot/duplicat/twice/once/dedup/
  redeliver/again/repeat/멱등/중복 : idempot|dedup|seen|already|unique|on conflict|
  processed_events|event id|message id|insert~first|skip~if|key|exactly once|inbox|setnx|claim|이미
  처리|중복
event/message/schema/topic/payload version/compat/evol/registry/schema/field : avro|protobuf|
  version|optional field|compat|schema|v2|json schema|스키마
event/socket/message authenticat/accept/before/unknown/type/ignore/valid/incoming : token|
  handshake|auth|closed with|4401|ignored|default:|schema|zod|validates|unknown type|switch
event/websocket/socket/postmessage/stream/message origin/auth/reconnect/valid/heartbeat/close/
  backpressure/check/order : event.origin|e.origin|targetorigin|token|handshake|reconnect|backoff|
  ping|pong|heartbeat|last-event-id|resume|schema|safeparse|close(|highwatermark|drain|sequence
exception/error narrow/specific/bare/broad/swallow/catch/precise : except valueerror|except
  keyerror|except oserror|except (|specific exception|only catch|narrow|no bare|logged and
  re-raised|raise from|from exc|from err|catch (e:|errors.is|errors.as|구체적인 예외
exception/error/예외/오류 handle/catch/specific/broad/narrow/swallow/처리/구체 : except (|except
  valueerror|except keyerror|except oserror|except httpx|except requests|catch (e|catch
  (ioexception|rescue|errors.is|errors.as|match err|instanceof|raise~from|on error|.catch(|
  narrowed|no longer catches|bare except~gone|re-raised|rethrows|구체적
expire/expiry/ttl/만료 cache/entry/item/캐시/항목/time/시간 : ttl|expires_in|max_age|ex=|minutes|
  seconds|expire(|setex|지나면|분 뒤|만료
expose/report/export/track/count/measure metric/rate/length/size/lag/hit/usage/often/option/depth :
  metric|gauge|counter|histogram|prometheus|/metrics|dashboard|statsd|scraped|otel|panel|grafana|
  지표
external/format/real/api/tool verify/real/memory/against/check : called|real|sandbox|accept it|
  against the|tried|curl|live
external/third/provider/upstream/partner/외부 api/service/call/dependency/호출/서비스 timeout/
  retry/fallback/circuit/fail/down/limit/cache/mock/장애/재시도/제한 : timeout|retry|retries|
  backoff|circuit|breaker|resilience4j|polly|opossum|fallback|cached copy|stale|503|degrade|when it
  is down|is unreachable|if~fails|semaphore|limiter|bulkhead|msw|wiremock|타임아웃|재시도|대체
failover/standby/replica/slot test/fail/boot/rebuilt/previous : killed|failover|promoted|switch
  took|patroni|a/b slot|boot counter|fell back|repmgr|pg_rewind
feature/flag/toggle both/test/each/path/on/states : with the flag|without the flag|flag on|flag
  off|both states|on and off|켠 경우
feature/flag/toggle/switch/플래그 default/off/behind/gate/new/disabled/기본 : flag|toggle|off by
  default|behind|launchdarkly|unleash|default false|= false|disabled by default|feature_|기본~꺼
feature/flag/toggle/플래그 remov/clean/expir/owner/date/old/temporary/delete/제거 : removed|
  deleted|cleanup|expires|owner|due|ticket|gone|flag~removed|제거
file/path/download/upload/name/경로/파일 traversal/outside/escape/directory/root/inside/safe/
  resolve/벗어 : path.resolve|path.relative|startswith(|is_relative_to|commonpath|basename|
  realpath|secure_filename|filepath.clean|os.openroot|../|..\|leaves the|outside the|stays inside|
  stays within|uuid|getcanonicalpath|토큰화|상위
file/write/save/output/파일 atomic/partial/corrupt/crash/half/temp/rename/원자/임시 : os.replace|
  rename(|tempfile|mkstemp|.tmp|.part|fsync|atomicwrite|write-file-atomic|moved into place|swapped
  in|never half|files.move|임시 파일
finally/cleanup/teardown/exception/failur releas/clean/clos/unlock/restor : finally|with|defer|
  trap|aftereach|addcleanup|yield|context manager|on_exit|dispose|raii|teardown|정리
flaky/intermittent/skip/ignor/quarantin/disab test/reason/issue/silenc/mark/cause : skip(|reason=|
  issue|quarantine|race|cause|not skipped|found the|because|xfail|flaky~#
focus/outline/ring visible/trap/return/restore/move/order/modal/dialog/initial/포커스 : focus|
  :focus-visible|outline|inert|autofocus|showmodal|<dialog|returns to|포커스
follow-up/followup/remaining/open point/summary/name/list/mention : opened #|not in this pr|left
  for|follow-up|still to|todo:|later:|남은
form/field/error/validation message/near/next/beside/inline/show/focus/associat/specific/first :
  below the field|next to|aria-describedby|aria-invalid|inline|focus~first|error summary|per field|
  helper text|each field|필드 아래
form/field/input/validation/폼/필드/입력 error/message/keep/preserve/next/inline/first/double/
  submit/disable/오류/유지/중복 : aria-invalid|aria-describedby|under the field|below the field|
  next to the field|focus to the first|first invalid|setfocus|isSubmitting|issubmitting|disabled={|
  disabled while|formstate|defaultvalue|localstorage|keeps what|still there|not lost|draft|입력한
  값|비활성화
form/input/button/submit/submission/click/order double/twice/disable/repeat/duplicate/while/during/
  prevent/중복 : disabled|while~runs|pending|issubmitting|aria-busy|double click|only once|second
  click|debounce|idempot|loading|두 번 눌|비활성
form/input/field/entered/typed/user/draft/입력 keep/preserv/lose/lost/save/restore/retain/survive/
  clear/error/unsaved/leave/유지 : keeps~value|stays|localstorage|draft|beforeunload|restored|
  defaultvalue|saved|not cleared|unsaved|sessionstorage|prefilled|old(|입력값|임시 저장|유지
format/style code/language/changed/file/own : gofmt|black|prettier|ruff format|rustfmt|cargo fmt|
  clang-format|dotnet format|formatted|spotless|go fmt
formula : =, +|leading apostrophe|apostrophe|prefixed|formula|csv injection|tab character|'='
frame/fps/rates/speed test/movement : 30, 60|60 fps|144|fps|time.deltatime|fixedupdate|fixed step
function/method/component/class/module/file small/long/split/extract/large/break/single/responsib :
  extracted|split into|pulled out|own hook|own component|own module|lines each|down to~lines|broke
  up|smaller|나눴|분리했
function/method/file small/short/long/split/size/larg : split|extract|lines|smaller|shorter|pulled
  out|broke|own function|own module|줄로|쪼개|나눴
fuzz : fuzz|afl|libfuzzer|hypothesis|go test -fuzz|executions|corpus
generat/codegen/artifact/built/build hand/edit/regener/commit/source/directly/manual : regenerated|
  generator|make generate|codegen|protoc|npm run gen|from the schema|template|go generate|buf
  generate|re-ran|생성기|다시 생성
global/singleton/static/mutable state/variable/avoid/no : injected|parameter|passed in|context|
  instance|constructor|provider|closure|no module-level
golden/snapshot/approval : golden|snapshot|approved|expected output|tests/golden|__snapshots__
graceful/shutdown/sigterm/drain/stop/종료 : sigterm|sigint|server.close|shutdown(|graceful|
  in-flight|inflight|drain|prestop|terminationgraceperiod|finishes what|waits for~to finish|
  awaits~running|errgroup|signal.notifycontext|lifespan
"""
