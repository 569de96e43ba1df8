"""The web: requests, security, pages, apps, mail.

See `lessons_kb.recall.ways` for how a line is read.
"""

from __future__ import annotations

WAYS = r"""
input/parameter/payload/body/argument/request/field/form/value/upload/입력 valid/check/schema/
  sanit/reject/server/type/malform/untrusted/range/검증 : pydantic|zod|joi|schema|validat|
  serializer|400|422|raises|is checked|checks|rejected|isinstance|marshmallow|class-validator|
  parse(|safeparse|regex|range|min=|max=|must be|yup|ajv|strong param|permit(|
  checked on the server|검증|유효
server/client/frontend/browser trust/valid/check/twice/again/rely/side/too/both/also :
  on the server|server-side|server side|backend|api~check|again in|both|recomputed|
  ignores~client|from the session|never trust|서버에서
auth/permission/access/owner/role/admin/tenant/object/resource/권한/인가 check/verify/enforc/
  every/each/server/require/deny/only/belong/limit/before/scope/restrict/확인/검사 : 403|
  permission|is_owner|owner_id|user_id|current_user|authorize|policy|403 for|404 for|
  @login_required|requires_role|can(|has_perm|belongs to|where tenant|scoped|guard|middleware|
  isadmin|rls|row level|row-level|forbidden|depends(|filter(owner|only~own|only~admin|403을|권한|
  본인
tenant/organis/organiz/workspace/customer/account/user isolat/separat/filter/scope/leak/other/
  cross/own/another : tenant_id|where tenant|scoped|rls|row level|row-level|other tenant|
  two tenants|404|belongs|org_id|per tenant|테넌트
auth/login/endpoint/route/anonymous/unauthentic/public require/protect/guard/need/behind/without/
  401 : 401|login_required|@auth|requireauth|middleware|bearer|depends(|authenticated|logged in|
  logged-in|session|api key|token|isauthenticated|로그인한|인증
password/비밀번호 hash/store/bcrypt/argon/plain/salt/slow/해시 : bcrypt|argon2|scrypt|pbkdf2|
  hash|set_password|make_password|passlib|salted|해시
password/login/attempt/brute/otp/code/endpoint/signup/reset/로그인/시도 limit/rate/throttl/lock/
  brute/per/account/ip/block/slow/횟수/제한 : rate limit|throttle|lockout|locked after|attempts|
  429|per account|per ip|per minute|limiter|axes|rack-attack|captcha|tries|delay|회 실패|분당|
  잠급|잠금|제한
login/signup/reset/password/error/message/response/account/email enumerat/same/reveal/exist/
  differ/generic/identical/leak/tell/whether : same message|same answer|same response|generic|
  identical|"invalid credentials"|whether~exists|if~exists|does not reveal|regardless|같은 메시지
session/cookie/세션/쿠키 httponly/secure/samesite/flag/attribute : httponly|secure|samesite|
  cookie_secure|same_site|__host-
session/login/id/token rotat/regener/new/fixation/renew/after/logout/invalid/revok/end/expire :
  regenerate|cycle_key|new session|reset_session|invalidat|revok|session.clear|rotat|destroy|
  flush|logged out everywhere|deleted~session|세션을 새로|무효
jwt/token/access/refresh/토큰 short/lifetime/exp/valid/minutes/rotat/revok/long/만료/수명 : exp|
  minutes|15 min|ttl|expires|short-lived|lifetime|revok|rotat|refresh|days|hours|만료|분 뒤|
  시간 뒤
jwt/token/signature alg/audience/issuer/verif/valid/claim/none : algorithms=[|aud|iss|audience|
  issuer|verify|rs256|hs256|jwks|exp|nbf
token/reset/link/invite/code single/once/one/used/reuse/expire/hash/random/guess/일회 : used_at|
  single-use|one-time|deleted after|only once|marked as used|hash|secrets.token|token_urlsafe|
  randombytes|expires|consumed|burn|한 번만|사용 처리
token/secret/signature/hmac/password/comparison/compare constant/timing/time/safe :
  compare_digest|timingsafeequal|constant time|constant-time|hmac.equal|secure_compare|subtle|
  ct_eq
random/token/secret/id/key/otp/session secure/crypto/predict/guess/strong : secrets.|randombytes|
  crypto.|token_urlsafe|urandom|securerandom|csprng|getrandomvalues|rand.reader
secret/token/credential/key/password/비밀/토큰/키 code/repo/commit/git/hardcod/source/env/vault/
  store/config/image/bundle/client/browser/manager/환경/코드 : os.environ|process.env|getenv|
  env var|environment|vault|secrets manager|secret manager|1password|.env|gitignore|kms|keychain|
  ssm|sealed|sops|gitleaks|no longer in the|--mount=type=secret|secrets.|on the server|
  from the env|환경 변수|환경변수|서버로 옮
secret/token/credential/key/leak/유출 rotat/revok/renew/reissu/invalid/replace/교체/폐기 : rotat|
  revok|new key|new token|reissu|invalidated|old~disabled|regenerat|replaced~key|폐기|재발급|교체
secret/token/credential/password/key/personal/card/비밀/토큰 log/print/error/message/output/url/
  expos/leak/mask/redact/로그 : redact|mask|***|filter|scrub|not logged|no longer log|stripped|
  header instead|removed~log|last four|only the id|hash|sanitiz|[filtered]|sensitiveparam|가렸|
  마스킹|로그에서
html/output/user/content/markdown/comment/text/template/name/xss escap/sanit/encod/raw/xss/
  dangerous/unsafe/innerhtml/inject/script : textcontent|dompurify|escape(|autoescape|sanitize|
  bleach|htmlspecialchars|no innerhtml|dangerouslysetinnerhtml~gone|escaped|{{|innertext|nh3|h()|
  html.escape|markupsafe|<script>|&lt;|이스케이프|태그를
redirect/next/return/url open/allow/relative/check/valid/external/own/host : url_has_allowed_host|
  is_safe_url|relative|same host|allowlist|starts with /|own host|same origin|startswith('/')|
  only~paths
cors/origin allow/wildcard/exact/restrict/list/star/credential/specific/compare : allowed_origins|
  allow_origins|exact|allowlist|origin in|vary|no wildcard|"*"~gone|access-control-allow-origin|
  list of origins|허용 목록
upload/file/image/attachment/picture/avatar/업로드/첨부/파일 type/content/magic/mime/extension/
  check/valid/allow/sniff/real/형식/종류 : magic|sniff|mime|content type|content-type|pillow|
  image.open|filetype|png|jpeg|signature|libmagic|allowlist|verify()|415|first bytes|형식|매직
upload/file/image/attachment/picture/avatar/body/request/payload/업로드/첨부/파일/사진 size/
  limit/large/big/max/bound/bytes/cap/크기/용량/상한 : max_content_length|413|mb|megabyte|
  content-length|maxsize|limits:|client_max_body_size|too large|5 * 1024|bytes|size >|max_upload|
  filesize|maxbytesreader|body limit|kb|이하|초과|넘는
upload/file/image/name/attachment/업로드/파일 name/filename/random/store/path/outside/web/root/
  origin/generat/uuid/serve/이름 : uuid|secure_filename|random name|basename|outside the web|
  content-disposition|s3|hash|generated name|original name~column|bucket|nanoid|private bucket|
  새 이름|무작위
upload/file/image/picture/photo/avatar exif/metadata/strip/location/re-encode/gps/virus/scan/
  malware : exif|strip|re-encode|gps|metadata|clamav|scan|resave|sharp|quarantine
proxy/proxies/forwarded/client/ip/header/address trust/spoof/real/forged/rate : trusted|
  x-forwarded-for|proxies|real_ip|remote_addr|rightmost|proxyfix|num_proxies|last hop|
  set_real_ip_from|프록시
tls/https/certificate/ssl verif/valid/renew/expir/check/disable/redirect/only/http : verify=true|
  verify~removed|verify=false~gone|ca bundle|cert|renew|expiry|hsts|301|https|acme|
  insecureskipverify~gone|rejectunauthorized~gone|days before|인증서
api/external/third/upstream/partner/provider/service/downstream/외부 limit/rate/429/quota/
  throttl/retry-after/respect : retry-after|429|rate|limiter|backoff|per second|quota|sleep|
  throttle|bucket
api/external/third/upstream/partner/provider/service/downstream/dependency/외부 fail/down/
  unavailable/fallback/circuit/timeout/slow/degrade/outage/장애 : circuit|fallback|timeout|
  cached|breaker|503|degrade|retry|except|if~down|stale|default|shows~message|resilience4j|폴백|
  대체|타임아웃
api/endpoint/response/request/field/openapi/swagger/spec document/schema/openapi/contract/
  describ/swagger/updat : openapi|swagger|schema|docs|api.yaml|postman|contract|redoc|spec|명세
api/endpoint/response/status/http/error code/status/correct/4xx/appropriate/proper : 400|401|403|
  404|409|422|429|201|204|status code|problem+json|http status|상태 코드
api/error/response/message/stack/detail internal/leak/stack/trace/expos/generic/reveal/hide/
  detail/users : generic|500|without a stack|request id|logged~only|no stack|correlation|
  error id|debug=false|internal~not|problem|"internal error"|errorhandler|내부~숨
api/response/field/json/serializ/model/object/attribute/mass only/expos/explicit/allow/whitelist/
  needed/leak/internal/assign : fields =|serializer|dto|response_model|pick(|only~fields|to_dict|
  explicit|permit|exclude|select(|no longer contain|필드
api/version/field/response/payload/client/contract break/compat/optional/additive/old/existing/
  remove/rename/version : optional|additive|v2|both|old~still|deprecat|unknown fields|new field|
  default|version|backward|existing clients|하위 호환
api/graphql/query/queries depth/complex/cost/nested/limit : depth|complexity|cost|max_depth|
  persisted|limit
websocket/socket/connection/stream/sse reconnect/disconnect/drop/heartbeat/ping/lost/close/resum
   : reconnect|ping|pong|heartbeat|keepalive|backoff|onclose|resubscrib|last-event-id|resum|
  재연결|다시 연결
cdn/static/asset/browser/file hash/finger/cache/immutable/bust/header : [contenthash]|hash|
  immutable|max-age|cache-control|etag|fingerprint|version|s-maxage|purge|해시
bundle/import/load/module/page/chunk/component/route lazy/split/dynamic/demand/size/budget/small/
  only : lazy|import(|dynamic|code-split|chunk|kb|react.lazy|suspense|budget|size-limit|
  tree-shak|지연
image/picture/layout/shift/cls/ad/font dimension/width/height/reserve/shift/space/jump/size/ratio
   : width=|height=|aspect-ratio|reserved|cls|skeleton|min-height|placeholder|font-display|
  layout shift|자리
focus/outline/ring visible/trap/return/restore/move/order/modal/dialog/initial/포커스 : focus|
  :focus-visible|outline|inert|autofocus|showmodal|<dialog|returns to|포커스
dialog/modal/overlay/popup/menu/drawer close/esc/trap/focus/outside/label : escape|esc|focus|
  aria-modal|showmodal|<dialog|inert|returns|backdrop|headless|radix|esc로
label/name/accessible/icon/button/field/input/alt/image text/label/name/aria/alt/associat/descri/
  screen/reader : aria-label|<label|htmlfor|alt=|aria-describedby|sr-only|visually-hidden|title|
  labelled|label for|getbylabel|대체 텍스트|레이블
touch/tap/target/button/thumb/mobile size/large/px/area/big/small : 44|48|px|padding|min-height|
  min-width|hit area|dp|터치
load/empty/error/pending/progress/spinner/state/skeleton/feedback/wait/로딩 show/state/indicat/
  display/handle/design/message/each : skeleton|spinner|loading|empty state|isloading|pending|
  progress|placeholder|nothing here|error message|toast|retry button|fallback|로딩|빈 화면|스피너
form/input/button/submit/submission/click/order double/twice/disable/repeat/duplicate/while/
  during/prevent/중복 : disabled|while~runs|pending|issubmitting|aria-busy|double click|
  only once|second click|debounce|idempot|loading|두 번 눌|비활성
form/input/field/entered/typed/user/draft/입력 keep/preserv/lose/lost/save/restore/retain/
  survive/clear/error/unsaved/leave/유지 : keeps~value|stays|localstorage|draft|beforeunload|
  restored|defaultvalue|saved|not cleared|unsaved|sessionstorage|prefilled|old(|입력값|임시 저장|
  유지
form/field/error/validation message/near/next/beside/inline/show/focus/associat/specific/first :
  below the field|next to|aria-describedby|aria-invalid|inline|focus~first|error summary|
  per field|helper text|each field|필드 아래
component/effect/listener/subscription/timer/interval/observer/handler/unmount clean/remov/
  unsubscrib/clear/leak/unmount/stop/destroy : return () =>|removeeventlistener|clearinterval|
  cleartimeout|unsubscribe|abort|cleanup|ondestroy|onunmounted|disconnect(|ondispose|takeuntil|
  dispose|정리|해제
list/key/row/element stable/index/unique/id/key : key={|:key=|item.id|stable key|trackby|
  not the index|track item
list/table/rows/items/feed/long/thousand virtual/window/long/large/many/page/slow : virtual|
  react-window|windowing|paginat|infinite|visible rows|content-visibility|recyclerview|
  lazycolumn|가상
browser/safari/firefox/chrome test/check/support/older/cross/all : safari|firefox|chrome|webkit|
  caniuse|polyfill|browserslist|playwright|edge|사파리
text/translation/label/german/long overflow/wrap/truncat/longer/cut/expand : ellipsis|wrap|
  overflow|min-width|pseudo-locali|line-clamp|longer|german|말줄임
mobile/app/android/ios/permission/notification/camera/location/권한 ask/context/request/deni/
  rationale/only/need/explain/거부 : requestpermission|rationale|denied|when~needed|after the|
  settings|not at launch|while in use|granted|on first use|거부하면|처음 사용할 때
app/activity/process/screen/background/kill/rotation/rotate/state restor/surviv/save/keep/resum/
  lose : savedinstancestate|viewmodel|remembersaveable|rotat|process death|onsaveinstance|
  restored|scenestorage|statehandle|회전
push/notification/token/device/알림 group/duplicate/token/expire/deep/link/silent/channel/
  permission : channel|group|thread-id|collapse|deep link|token~refresh|unregistered|fcm|apns|
  topic|묶
email/mail/newsletter/메일 bounce/unsubscrib/spf/dkim/dmarc/plain/spam/html/text/수신 :
  list-unsubscribe|unsubscribe|spf|dkim|dmarc|bounce|suppression|text/plain|multipart|complaint|
  수신 거부
email/mail/notification/message/sms/메일/알림 test/real/sandbox/address/stag/customer/send/
  production/dev/실제 : mailhog|mailpit|sandbox|console backend|locmem|allowlist|test address|
  catch-all|redirected|outbox|example.com|테스트 주소
"""
