"""Topics from t to w, then Hangul, by their first word.

See `lessons_kb.recall.ways` for how a line is read.
"""

from __future__ import annotations

WAYS = r"""
tag/latest/floating/manifest/image digest/pin/avoid/floating/kubernetes/immutable : @sha256|digest|
  pinned|:1.|:v1|imagepullpolicy|no longer latest|not latest
task/goroutine/thread/coroutine leak/cancel/stop/track/reference/join/wait/exit/shutdown/end/
  lifetim/finish : cancel|waitgroup|errgroup|taskgroup|join(|goleak|ctx.done|await|stopped|context|
  daemon|shutdown|background_tasks|structured|취소
telegram/discord/slack/bot/chat sender/chat/id/allow/author/unknown/user/channel : chat_id|allowed|
  user id|sender|allowlist|from_user|channel|chat id|unauthoriz|허용
temp/scratch/intermediate file/folder/directory/data/clean/remov/delet/trap : trap|tmp_path|mktemp|
  tempfile|temporarydirectory|deleted afterwards|finally|rm -rf "$tmp|cleaned up|removed~end|defer
  os.remove|using|unlink|임시
tenant/id/filter/scope every/each/query/queries/pass : tenant_id|where tenant|scoped|rls|row level|
  default scope|with_tenant|set_config|filter(tenant
tenant/organis/organiz/workspace/customer/account/user isolat/separat/filter/scope/leak/other/
  cross/own/another : tenant_id|where tenant|scoped|rls|row level|row-level|other tenant|two
  tenants|404|belongs|org_id|per tenant|테넌트
tenant/organisation/organization/workspace/customer isolat/filter/scope/leak/other/separate/check :
  tenant_id|tenantid|org_id|workspace_id|row level security|rls|current_tenant|acts_as_tenant|
  global scope|another tenant|two tenants|other org|404
terraform/infra/cloud/module/provider version/pin/lock : required_version|.terraform.lock|pinned|
  version =
terraform/infra/cloud/resource plan/apply/destroy/protect/state/lock/tag/review/prevent : terraform
  plan|to destroy|no changes|plan shows|plan says|plan -out|prevent_destroy|deletion_protection|
  backend "|dynamodb|use_lockfile|tags = {|default_tags|moved {|import {
terraform/infra/iac/cloud/resource/state plan/review/apply/before/diff/saved/destroy : terraform
  plan|plan -out|tf.plan|to destroy|no changes|plan says|plan shows|applied~plan|preview|pulumi
  preview|cdk diff
terraform/infra/resource/database/destroy/delete prevent/protect/accident/lifecycle/deletion :
  prevent_destroy|deletion_protection|lifecycle|moved|terraform state mv|protect|삭제 방지
terraform/infra/state remote/lock/backend/s3/encrypt : backend|dynamodb|remote state|lock|
  use_lockfile|versioning|gcs|terraform cloud
test/cover timezone/dst/daylight/zone/leap/midnight/clock/month : dst~test|timezone~test|tz=~test|
  leap~test|midnight~test|march~test|october~test|feb~test|utc~test|zoneinfo~test|seoul~test|
  new_york~test|berlin~test|kst~test|freeze
test/cover/테스트 concurren/race/parallel/simultan/twice/two/double/동시/두 : threads~test|at
  once~test|parallel~test|gather|promise.all|concurrent~test|same time~test|barrier|executor~test|
  goroutine~test|twice~test|two~requests~test|sends it twice~test|동시에~테스트|두 번~테스트|
  스레드~테스트
test/cover/테스트 empty/none/zero/boundar/edge/limit/maximum/경계/빈/境界 : empty~test|zero~test|
  boundary~test|exactly~test|one more~test|max~test|limit~test|off-by-one~test|edge~test|none~test|
  0~test|parametrize|빈~테스트|경계~테스트|0건~test
test/cover/테스트 quote/comma/space/blank/special/unicode/emoji/character/name/nfd : quote~test|
  comma~test|o'brien~test|unicode~test|emoji~test|umlaut~test|é~test|spaces~test|apostrophe~test|
  semicolon~test|nfd~test|decomposed~test|newline~test|한글~테스트
test/cover/테스트 reject/refus/deny/denied/stranger/malicious/attack/invalid/bad/forbidden/거부/
  거절/거부되 : rejected~test|rejection~test|refusal~test|test~403|test~401|raises|refused~test|
  stranger~test|unknown~test|
  pytest.raises|tothrow|status 400~test|denied~test|malicious~test|400~test|422~test|assertraises|
  rejects~test|거절~테스트|거부~테스트|403~테스트
test/flaky/불안정 deterministic/stable/sleep/wait/order/random/isolat : waitfor|findby|await
  expect|eventually|usefaketimers|freeze|seed|sorted|mkdtemp|tmp_path|own database|rolled back
  after|--repeat|times in a row|100 times|50 times|repeat-each|stress|no more sleeps|instead of
  sleeping|shuffle
test/spec/regression/테스트/시험 : test_|_test.|.test.|.spec.|spec/|added a test|new test|a test|
  tests|two cases|new case|case for|covered by|covers|pytest|jest|vitest|rspec|go test|cargo test|
  junit|phpunit|it('|describe(|assert|expect(|specs|test pass|tested with|checked with a test|
  xunit|mocha|테스트를 추가|테스트 추가|테스트를 작성|테스트로|테스트 케이스|테스트가 통과|테스트도
test/spec/테스트 mock/fake/network/external/real/stub/clock/time/외부/모의 : msw|nock|responses|
  respx|vcr|wiremock|mockserver|httptest|test double|fake|stub|usefaketimers|freezegun|
  time_machine|timecop|testcontainers|localstack|in-memory|sandbox|recorded|no network
test/suite pass/run/whole/full/all/every/rerun/before/after/실행 : all tests|tests pass|suite|
  passed|green|pytest|npm test|go test|cargo test|make test|0 failed|ran the tests|whole suite|
  unchanged|tests are|specs pass|테스트가 모두|전체 테스트|통과
test/suite/테스트 run/pass/green/whole/full/all/before/after/돌린/실행/통과 : all green|is green|
  are green|stays green|passed|0 failures|0 failed|pytest|npm test|pnpm test|yarn test|go test|
  cargo test|mvn|gradle|dotnet test|rspec|phpunit|make test|tox|nox|ctest|everything passes|suite
  is|tests pass|모두 통과|전부 통과|통과했|돌려 보|돌렸
test/try/review/change hand/manual/describe/how : how to try|how to test|steps|start|open|click|
  test plan|to reproduce
test/테스트 edge/boundary/empty/invalid/error/failure/negative/unhappy/경계/실패/예외 : empty~test|
  test.each|it.each|parametrize|table-driven|[theory]|inlinedata|raises|rejects.tothrow|tothrow|
  assertraises|expect_error|should_panic|throws|4xx~test|400~test|404~test|both~boundaries|
  last~page~test|zero~test|negative~test|경우~테스트
test/테스트 network/real/live/external/outside/fake/mock/stub/service/외부/모의 : mock|fake|stub|
  responses|nock|respx|wiremock|vcr|msw|recorded|no network|does not touch the network|don't touch
  the network|in-memory|without network|httptest|모의|가짜
test/테스트 parallel/병렬 : --parallel|-n auto|xdist|shard|workers|jobs|병렬|t.parallel
test/테스트 regression/reproduce/bug/fail/issue/fix/회귀/재현 : fails without|fails on main|fails
  on the old|red without|red on main|test(issue|test_issue|gh-|without the fix|before the fix it|
  stash|on the old code|would have caught|named after the|for that very|exact input|that very
  number|수정 전에는
test/테스트/spec add/write/cover/new/추가/작성/둔다/case/check/확인/verify : def test_|it("|it('|
  test("|test('|describe(|#[test]|func test|@test|[fact]|t.run(|rspec|expect(|assert_|asserts|
  assertthat|covered by|is covered|are covered|specs for|cases for|new cases|two cases|three cases|
  gained a row|gained a case|tests are in|the test feeds|a test sends|the test checks|a unit test|
  an integration test|a fixture|passes with the fix|테스트 두|테스트 세|테스트에서|테스트도|단위
  테스트|통합 테스트|시험을 추가|케이스를
text/article/document/report/page/post/paragraph/translation/copy/글/문서 spell/proofread/read/
  typo/grammar/check/review/aloud/native : spell|vale|proofread|typo|read it|aloud|grammar|second
  reader|codespell|native|맞춤법
text/translation/label/german/long overflow/wrap/truncat/longer/cut/expand : ellipsis|wrap|
  overflow|min-width|pseudo-locali|line-clamp|longer|german|말줄임
thread/concurren/race/parallel/shared/simultan safe/lock/protect/guard/synchron/mutex/state/access/
  serial : lock|mutex|synchronized|with self._lock|atomic|rwlock|threading.lock|asyncio.lock|
  sync.mutex|concurrenthashmap|queue|serializ|one at a time|actor|-race|select ... for update|for
  update|compare-and-swap|single writer|잠금|락|동기화
throttl : throttl|requestanimationframe|per second|per frame|limiter|at most~per|rate limit|
  semaphore|p-limit|bottleneck|leaky
time/date/시간/시각 utc/timezone/zone/aware/tz/stor/offset/local/시간대 : utc|timestamptz|timezone|
  tzinfo|zoneinfo|aware|at time zone|iso 8601|z$|datetime.now(|pytz|instant|offsetdatetime|now(utc|
  kst|협정|시간대
time/runtime/duration/시간 limit/bound/max/제한 : timeout|killed after|seconds|deadline|cut off|
  minutes|ulimit|time limit|초|분
time/시간대/시각 utc/kst/store/저장/zone/표시/명시 : utc|timestamptz|zoneinfo|zoneddatetime|offset|
  kst|at time zone|시간대|타임존
timeout/hang/forever/deadline/타임아웃/제한 request/call/http/client/network/query/command/
  outgoing/external/set/explicit/요청/호출 : timeout=|timeout:|timeout(|abortsignal.timeout|
  context.withtimeout|httpx.timeout|connect_timeout|read_timeout|connecttimeout|readtimeout|
  settimeout|clienttimeout|deadline|after 5 s|after 10 s|seconds|5 s|10 s|30 s|gives up after|no
  answer within|초 안에|초로|초가 지나
tls/https/certificate/ssl verif/valid/renew/expir/check/disable/redirect/only/http : verify=true|
  verify~removed|verify=false~gone|ca bundle|cert|renew|expiry|hsts|301|https|acme|
  insecureskipverify~gone|rejectunauthorized~gone|days before|인증서
tls/https/certificate/ssl/인증서 verify/renew/expire/redirect/check/disable/갱신/만료 :
  verify=true|verify=false~gone|rejectunauthorized|insecureskipverify|certbot|cert-manager|acme|
  let's encrypt|renews|days before|hsts|strict-transport|ca bundle|만료~전
token/reset/link/invite/code single/once/one/used/reuse/expire/hash/random/guess/일회 : used_at|
  single-use|one-time|deleted after|only once|marked as used|hash|secrets.token|token_urlsafe|
  randombytes|expires|consumed|burn|한 번만|사용 처리
token/secret/signature/hmac/password/comparison/compare constant/timing/time/safe : compare_digest|
  timingsafeequal|constant time|constant-time|hmac.equal|secure_compare|subtle|ct_eq
total/amount compare/match/check/equal/add/sum : match|by hand|equal|adds up|compared|identical|sum
touch/tap/target/button/thumb/mobile size/large/px/area/big/small : 44|48|px|padding|min-height|
  min-width|hit area|dp|터치
trace/tracing/span/telemetry/otel/request/correlation propagat/across/context/id/tenant/attribute :
  traceparent|otel|opentelemetry|span|x-request-id|propagat|correlation|baggage|trace_id
transact short/network/call/http/external/mail/inside/outside/long/hold/slow : outside the
  transaction|after commit|on_commit|after_commit|before the transaction|committed before|
  commit~then|outbox|no http|short|closed before|transaction.on_commit|커밋한 뒤|커밋 뒤|트랜잭션
  밖
transaction/atomic/트랜잭션/원자 : @transactional|transaction.atomic|begin;|commit;|$transaction|
  session.begin|unitofwork|db.transaction|with_transaction|transaction do|rollback|all or nothing|
  either both|both or neither|half-written|os.replace|rename(|트랜잭션
transaction/트랜잭션 external/api/http/call/outside/외부/호출/안에서 : after commit|outside|
  aftercommit|@transactionaleventlistener|before the transaction|outbox|커밋 후|커밋한 뒤|트랜잭션
  밖
translat/i18n/locale/language/string/text/번역/문구/다국어 extract/key/hardcod/fallback/missing/
  externalis/file/plural/format : t('|t("|usetranslation|formatmessage|intl.|<trans|gettext|
  i18next|ngettext|fallbacklng|en.json|ko.json|de.json|strings.xml|.arb|messages_|localizable|
  pluralrules|키가 없으면|옮기고
translat/string/text/message/문구/번역 external/file/key/miss/fall/default/hardcod/separate/파일/
  분리/검사 : t('|i18n|messages.|gettext|_(|locales/|resource|bundle|fallback|default language|lang
  file|en.json|ko.json|strings.xml|메시지 파일|번역 파일
type/any/타입 replace/strict/real/narrow/guard/check/exhaust/generic/union : unknown|generic|
  typeof|instanceof|is string|satisfies|never|assertnever|zod|noimplicitany|strict: true|"strict":
  true|tsc|type guard|discriminated|keyof|infer|no any|mypy|pyright|타입 가드
type/타입/any error/check/cast/narrow/오류/검사 : mypy|tsc|type guard|is string|typeof|unknown|
  assertnever|zod|no any|pyright|instanceof|generic|satisfies|타입 가드|타입 검사
understand/read/explore/look/search/existing code/before/first/similar/pattern/history : read|
  looked at|looked for|found|existing|grep|searched|git log|git blame|git grep|rg|traced|먼저 읽|
  살펴|찾아
undo/confirm/delete/destructive/irreversible/삭제/되돌/확인 user/action/data/before/ask/prompt/
  dialog/사용자/전에 : confirm(|alertdialog|are you sure|type the name|types the name|undo|trash|
  soft delete|deleted_at|restore|grace period|30 days|dry run|--dry-run|--yes|prompts|
  window.confirm|확인 창|휴지통|복구
undo/revert/restore/recover/trash/되돌/복구 user/action/delete/import/operation/삭제 : undo|trash|
  restore|deleted_at|soft|revert|toast|30 days|되돌|복구|휴지통|실행 취소
unicode/유니코드/nfc normal/정규화/compare/비교 : nfc|normalize|nfkc|casefold|정규화
uniqu/duplicat/중복 constraint/index/database/key/enforc/insert/row/record/guarante/제약/방지 :
  unique|on conflict|upsert|insert ignore|primary key|duplicate key|merge into|add_index~unique|
  유니크|고유 제약
unit name/state/duration/size/field/variable : _ms|_seconds|_bytes|timeoutms|in seconds|suffix|_s$|
  _mb|duration
unsubscrib/deactivat/탈퇴/수신 mail/delete/user/회원/메일/거부/사용자 : unsubscrib|one click|
  list-unsubscribe|deactivated|where active|excluded|suppression|token in the link|탈퇴|제외|지웁|
  삭제|수신 거부
unused/unneeded/dead/superfluous depend/package/export/import : depcheck|knip|uninstall|npm
  uninstall|removed|cargo machete|cargo-udeps|vulture|ts-prune|go mod tidy|deptry|dropped from
upgrade/update/os/database/major/version test/staging/compat/rollback/snapshot/read : staging|
  snapshot|release notes|pg_upgrade|tested|rollback|changelog|복제본
upload/file/image/attachment/picture/avatar/body/request/payload/업로드/첨부/파일/사진 size/limit/
  large/big/max/bound/bytes/cap/크기/용량/상한 : max_content_length|413|mb|megabyte|content-length|
  maxsize|limits:|client_max_body_size|too large|5 * 1024|bytes|size >|max_upload|filesize|
  maxbytesreader|body limit|kb|이하|초과|넘는
upload/file/image/attachment/picture/avatar/업로드/첨부/파일 type/content/magic/mime/extension/
  check/valid/allow/sniff/real/형식/종류 : magic|sniff|mime|content type|content-type|pillow|
  image.open|filetype|png|jpeg|signature|libmagic|allowlist|verify()|415|first bytes|형식|매직
upload/file/image/name/attachment/업로드/파일 name/filename/random/store/path/outside/web/root/
  origin/generat/uuid/serve/이름 : uuid|secure_filename|random name|basename|outside the web|
  content-disposition|s3|hash|generated name|original name~column|bucket|nanoid|private bucket|새
  이름|무작위
upload/file/image/picture/photo/avatar exif/metadata/strip/location/re-encode/gps/virus/scan/
  malware : exif|strip|re-encode|gps|metadata|clamav|scan|resave|sharp|quarantine
upload/image/file/attachment/avatar/업로드/파일/이미지/첨부 type/content/extension/mime/magic/
  format/real/형식/종류 : file-type|filetypefromb|magic.from_buffer|image.open|.verify()|first
  bytes|magic bytes|signature bytes|sniff|detectcontenttype|tika|content is looked at|renamed exe|
  renamed to .png|415|실제 형식|매직
user/audience/customer/reader/language word/plain/simple/jargon/understand/clear : plain|simple|
  jargon|glossary|explain|short|wording|쉬운
user/사용자 stack/trace/internal/detail/error/expose/show/노출/내부/오류 : generic|something went
  wrong|500 page|reference|request id|problem+json|logged|sentry|debug=false|error page|without
  details|일반적인|문의 번호
valid/logic/code duplicate/rid/copies : one~value object|copies~deleted|shared|extracted|one place|
  single|dedup
vendor/fork/patch unmodified/small/version/note/document/upstream/licen : upstream|patch|vendor/|
  version|commit|untouched|unmodified|git subtree
version/upgrade/major/migrate/update/버전 dependency/framework/library/runtime/guide/breaking/
  changelog/test/compat/node/python/업그레이드 : release notes|migration guide|changelog|codemod|
  breaking|deprecat|adapted|call sites|matrix|both versions|engines|requires-python|.nvmrc|tested
  on|릴리스 노트|변경점
virtualiz/virtualis/가상화 : virtual|react-window|tanstack|fixedsizelist|windowing|visible rows|
  recycler|가상
wait/long/retry tell/client : retry-after|seconds left|try again in|x-ratelimit-reset
warning/lint/compiler clean/zero/fix/error/no/treat/without/silent/suppress : no warnings|0
  warnings|clean|werror|--max-warnings|-d warnings|quiet|without warnings|passes|경고 없
webhook/callback/event/delivery/웹훅 sign/verif/authent/hmac/서명/검증 : hmac|signature|
  compare_digest|x-hub|stripe-signature|constructevent|signed|secret|timingsafeequal|raw body|svix|
  서명
webhook/callback/payload/웹훅/콜백 sign/verify/authentic/hmac/서명/검증 : constructevent|
  x-signature|x-hub|svix|createhmac|hmac.new|hmac.compare|validate_signature|forged|tampered|
  bounces|raw body|verifywebhook|400 before|401 before|서명을 계산|서명이 다르
webhook/delivery/event fast/quick/respond/answer/ack/queue/async/2xx/200 : 200|202|at once|
  immediately|queue|enqueue|background|worker|delay(|acknowledg|바로 응답|큐에
webhook/signature/body raw/unprocess/bytes/before/pars : raw|get_data()|request.body|
  bodyparser.raw|rawbody|express.raw|before~json|bytes|await request.text()|원본
webhook/signature/message replay/timestamp/old/window/age : timestamp|five minutes|5 minutes|300|
  older than|tolerance|nonce|replay|window|오래된
websocket/socket/connection/stream/sse reconnect/disconnect/drop/heartbeat/ping/lost/close/resum :
  reconnect|ping|pong|heartbeat|keepalive|backoff|onclose|resubscrib|last-event-id|resum|재연결|
  다시 연결
wipe/clear/remove/revoke/세션/기존 token/session/sign-out/logout/password/끊 : cleared|removed|
  keychain|deleteitem|removeitem|revoked|invalidated|clear()|logged out everywhere|delete~sessions|
  token_version|session_version|세션을 모두|세션~삭제|로그아웃
workaround/hack/pin/why document/explain/comment/needed : explains|see|because|until|remove when|
  remove once|upstream issue
4xx/client/only/retry/permanent never/only/timeouts/5xx/errors : final|not retried|only~retried|
  5xx|client errors|retryable|raise_for_status|giveup
"""
