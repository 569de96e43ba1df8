"""What runs: pipelines, containers, clouds, alerts, agents; and what is written.

See `lessons_kb.recall.ways` for how a line is read.
"""

from __future__ import annotations

WAYS = r"""
ci/pipeline/workflow/action/github/job run/test/lint/check/every/each/push/pull/fail/gate/block :
  .github/workflows|on: pull_request|workflow|pipeline|gitlab-ci|job|required check|- run:|
  circleci|jenkinsfile|runs on every|in ci|azure-pipelines|ci에서
ci/pipeline/workflow/action/github pin/sha/version/hash/commit/third : @v4|@sha|pinned|
  commit sha|full sha|digest|dependabot|uses:
ci/pipeline/workflow/action/token/job permission/least/read/minimal/scope : permissions:|
  contents: read|read-only|id-token|oidc|least
ci/pipeline/workflow/build/job cache/fast/speed/time/parallel/slow/shard : cache|actions/cache|
  matrix|shard|parallel|minutes|from~to|--filter|turbo|restore-keys|분에서
ci/pipeline/workflow/job/build secret/fork/log/untrusted/pull_request_target/oidc : secrets.|
  pull_request_target|oidc|masked|add-mask|environment|forks|id-token
ci/pipeline/deploy/release/build/test green/before/after/wait/pass/gate/red : green|passed|
  needs:|required|waits for|gates|only after|all checks|CI 통과|통과한 뒤
build/release/deploy/artifact/image/publish tag/version/immutable/sign/once/promot/same : tag|
  digest|signed|cosign|sha|same image|promot|v1|immutable|provenance|태그
docker/image/container/컨테이너/이미지 root/user/nonroot/privilege/unprivileg/루트 : user 1000|
  user app|user node|user nonroot|nonroot|non-root|runasnonroot|adduser|useradd|distroless|uid|
  rootless|비루트|일반 사용자
docker/image/base/container/이미지 pin/tag/digest/version/latest/fixed/고정 : @sha256|digest|
  pinned|:3.12|-slim|bookworm|not latest|instead of latest|specific tag|:20|:22|:1.|고정
docker/image/container/이미지 small/slim/size/stage/multi/minimal/layer/크기 : multi-stage|
  as build|--from=|slim|alpine|distroless|mb|.dockerignore|smaller|--no-cache|scratch|
  멀티 스테이지
docker/image/build/layer/이미지 cache/order/layer/copy/fast/dockerignore : copy package|
  copy requirements|before~copy|--mount=type=cache|.dockerignore|buildx|layer|cache-from|순서
docker/image/container/depend/vulnerab/cve/취약점 scan/vulnerab/cve/trivy/audit/check : trivy|
  grype|snyk|npm audit|pip-audit|cargo audit|0 vulnerab|cve|dependabot|osv|govulncheck|스캔
kubernetes/pod/container/deployment/service/process/worker memory/cpu/limit/resource/request/
  메모리 : resources:|limits:|requests:|memory:|cpu:|mi$|512m|memorymax|oom|--memory|리소스 제한
deploy/release/rollout/change/배포 roll/back/revert/undo/plan/previous/되돌/롤백 : rollback|
  rollout undo|previous image|previous version|helm rollback|revert|one command|back in|
  feature flag|blue/green|undo|old~kept|이전 버전|되돌|롤백
deploy/release/rollout/feature/change/배포 gradual/canary/percent/stage/slowly/small/first/
  subset/단계/점진 : canary|5 %|10 %|percent|5%|10%|1%|staged|gradual|internal users|one region|
  ring|blue-green|phased|first~then|%부터|점진|단계
deploy/release/rollout/change/배포 verify/smoke/check/after/monitor/watch/health/error/확인/지켜
   : smoke|curl|health|watched|dashboard|error rate|/version|after the deploy|no errors|
  logs~clean|rollout status|synthetic|확인|지켜봤
deploy/release/migration/change/prod/maintenance/downtime/배포 announc/notif/tell/inform/window/
  friday/time/customer/team/warn/공지 : announc|status page|slack|maintenance window|posted|told|
  mail|informed|heads-up|night|ahead|calendar|change ticket|공지|알렸
staging/stage/test/preview environment/first/before/production/deploy/try/스테이징 : staging|
  preview|on stage|test environment|sandbox|qa|dry run|스테이징
feature/flag/toggle/switch/플래그 default/off/behind/gate/new/disabled/기본 : flag|toggle|
  off by default|behind|launchdarkly|unleash|default false|= false|disabled by default|feature_|
  기본~꺼
feature/flag/toggle/플래그 remov/clean/expir/owner/date/old/temporary/delete/제거 : removed|
  deleted|cleanup|expires|owner|due|ticket|gone|flag~removed|제거
feature/flag/toggle both/test/each/path/on/states : with the flag|without the flag|flag on|
  flag off|both states|on and off|켠 경우
terraform/infra/iac/cloud/resource/state plan/review/apply/before/diff/saved/destroy :
  terraform plan|plan -out|tf.plan|to destroy|no changes|plan says|plan shows|applied~plan|
  preview|pulumi preview|cdk diff
terraform/infra/state remote/lock/backend/s3/encrypt : backend|dynamodb|remote state|lock|
  use_lockfile|versioning|gcs|terraform cloud
terraform/infra/resource/database/destroy/delete prevent/protect/accident/lifecycle/deletion :
  prevent_destroy|deletion_protection|lifecycle|moved|terraform state mv|protect|삭제 방지
terraform/infra/cloud/module/provider version/pin/lock : required_version|.terraform.lock|pinned|
  version =
cloud/bucket/storage/s3/database/port/service/network/security/firewall public/private/open/
  expos/restrict/internet/block/access : block public|private|security group|vpc|127.0.0.1|
  0.0.0.0/0~gone|cidr|firewall|ufw|internal|bind|signed url|presigned|acl|not public|비공개|
  내부망
cloud/iam/role/policy/permission/service/account least/minimal/narrow/wildcard/only/scope/
  specific : least|only~bucket|arn:|s3:getobject|no wildcard|"*"~gone|read-only|scoped|own role|
  policy|최소 권한
cloud/resource/cost/budget/spend/expens tag/cost/alert/budget/estimate/limit/cheap : tag|budget|
  alert|per month|€|infracost|estimate|owner=|shut down|spot|autoscal|비용
alert/alarm/page test/fire/trigger/verify/prove/actually : fired|test alert|triggered|amtool|
  promtool test|arrived|on purpose|got the page|울렸
alert/alarm runbook/link/action/owner/noise/threshold : runbook|owner|link|threshold|severity|
  actionable|for:|런북
log/로그 structur/json/field/context/request/correlation/trace/id/level/요청 : json|structlog|
  request_id|request id|correlation|trace_id|extra=|bind(|slog|zap|logger.info|level|contextvar|
  mdc|pino|serilog|구조화|요청 id
log/로그 rotat/size/disk/retention/volume/noise/sampl/grow : logrotate|rotatingfilehandler|
  max_bytes|max-size|retention|days|sampl|journald|회전
log/error/exception/failure/실패/오류 log/stack/trace/context/sentry/report/track/record/남 :
  logger.exception|exc_info|sentry|traceback|log.error|logged|captureexception|slog.error|
  console.error|logger.error|with the~id|기록
trace/tracing/span/telemetry/otel/request/correlation propagat/across/context/id/tenant/attribute
   : traceparent|otel|opentelemetry|span|x-request-id|propagat|correlation|baggage|trace_id
incident/outage/breach customer/inform/notif/status/affected/communicat/tell/users : status page|
  mailed|told|informed|notified|customers|posted|support|statuspage|공지
backup/백업 test/restor/verify/prove/drill/check/복구/복원 : restored|test restore|restore drill|
  pg_restore|restic check|into a scratch|row count|checksum|came back|verified|boots from|복원|
  복구해
backup/백업 offsite/other/remote/separate/copy/region/encrypt/location/away/암호/외부 : offsite|
  s3|other region|second|b2|remote|encrypted|gpg|different account|rclone|restic|another|외부
backup/백업 before/first/mak/take/creat/전에/먼저 : backup|snapshot|pg_dump|dump|cp -a|copied|
  .bak|restic|mysqldump|백업|스냅샷
server/host/ssh/firewall/nginx/config/service/systemd/설정 test/check/valid/syntax/reload/before
   : nginx -t|sshd -t|visudo -c|--check|configtest|systemd-analyze|validate|reload|
  named-checkconf|promtool|문법
server/host/ssh/remote/firewall lock/lose/session/access/open/keep/second/console :
  second session|kept~open|at now|rollback timer|console|still~log in|revert in|another terminal|
  세션
upgrade/update/os/database/major/version test/staging/compat/rollback/snapshot/read : staging|
  snapshot|release notes|pg_upgrade|tested|rollback|changelog|복제본
access/production/data/query/shell read/only/limited/audit : read-only|readonly|replica|
  read replica|audited|temporary|default_transaction_read_only|읽기 전용
load/capacity/traffic/scale/performance/stress test/peak/expected/measure/autoscal/부하 : k6|
  locust|wrk|ab -n|jmeter|vegeta|load test|gatling|req/s|rps|users|hpa|autoscal|부하
llm/model/prompt/agent/assistant/chatbot/ai/모델 output/response/answer/json/reply/result valid/
  schema/check/pars/trust/structured/verify/검증 : json schema|structured|pydantic|zod|validat|
  response_format|retry~invalid|function call|tool call|strict|parse|스키마
llm/model/prompt/agent/assistant/tool/chatbot/instruction inject/untrusted/user/data/separat/
  content/instruction/document : delimit|untrusted|system prompt|as data|injection|quoted|
  not follow|allowlist|sandbox|escape|프롬프트 인젝션
llm/model/token/prompt/context/cost/api/모델 limit/cost/count/budget/max/truncat/cache/window/
  비용 : max_tokens|tokens|budget|truncat|cost|tiktoken|cached|per request|count|context|summar|
  토큰
llm/prompt/model/eval/change/프롬프트 test/eval/golden/measure/regress/set/compare/평가 : eval|
  golden|cases|accuracy|promptfoo|test set|before and after|scored|judge|graded|평가
llm/prompt/model/version/temperature pin/version/fix/record/determin/temperature : pinned|
  temperature|model=|seed|snapshot|version|2024-|2025-
agent/tool/command/bot/remote/exec/action approv/confirm/allow/restrict/permission/sandbox/human/
  stranger/unknown/only : allowlist|allowed_|confirm|approval|sandbox|docker|only~commands|human|
  deny|permission|refus|not in~reject|read-only|whitelist|허용|승인
telegram/discord/slack/bot/chat sender/chat/id/allow/author/unknown/user/channel : chat_id|
  allowed|user id|sender|allowlist|from_user|channel|chat id|unauthoriz|허용
message/chat/bot/reply/markdown/텔레그램 long/split/length/limit/escape/format/4096 : 4096|2000|
  split|chunk|escape|parse_mode|truncat|나눠
text/article/document/report/page/post/paragraph/translation/copy/글/문서 spell/proofread/read/
  typo/grammar/check/review/aloud/native : spell|vale|proofread|typo|read it|aloud|grammar|
  second reader|codespell|native|맞춤법
document/docs/readm/example/command/snippet/code run/work/test/execut/verify/copy/try : doctest|
  ran every|tried|copy-pasted|executed|works as written|mdx|tested|output is|실행해
document/docs/readm/link/url broken/check/valid/dead/work : lychee|linkcheck|link check|
  no broken|checked~links|all links|링크
document/docs/screenshot/picture/diagram/video updat/current/new/alt : screenshot|new picture|
  mermaid|re-recorded|alt|diagram|updated|캡처
report/summary/answer/handover/description/pr short/what/why/changed/state/explain/mention/limit/
  open/risk/not : summary|what changed|why|because|not done|known|left|remaining|risk|
  how to test|요약|남은
user/audience/customer/reader/language word/plain/simple/jargon/understand/clear : plain|simple|
  jargon|glossary|explain|short|wording|쉬운
decision/adr/design/choice/trade/alternative record/document/write/note/why/reason : adr|
  decision|docs/adr|because|chose|considered|trade|design doc|결정
"""
