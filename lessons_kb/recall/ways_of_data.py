"""Data: databases, queues, money and time, learning from data.

See `lessons_kb.recall.ways` for how a line is read.
"""

from __future__ import annotations

WAYS = r"""
migration/schema/ddl/column/table/alter/마이그레이션 revers/down/undo/back/roll/되돌/롤백 :
  downgrade|down()|def down|reversible|rollback|backwards|reverse|exports.down|back and forth|
  up and down|undo|내려|되돌|롤백
migration/schema/마이그레이션 test/tri/run/rehears/check/copy/stag/production/real/dump/시험/복제
   : staging|copy of|snapshot|dump of|production-size|restored|clone|dry run|ran~against|
  on a copy|alembic upgrade|million rows|took~on|test database|replica|복사본|복제본|스테이징
migration/schema/column/rename/drop/deploy/release/마이그레이션/컬럼 step/phase/expand/contract/
  two/separate/several/compat/backward/old/단계/나눠/호환 : first release|next release|
  both columns|writes both|dual|nullable|expand|contract|two steps|three steps|two deploy|
  later release|in a separate|old~still|keeps working|release~drops|단계|두 번에|다음 배포|구버전
migration/column/table/data/drop/delete/destruct back/dump/recover/restor/snapshot/백업 : backup|
  snapshot|pg_dump|mysqldump|dumped|copied|exported|archiv|point-in-time|백업|스냅샷
migration/column/field/alter/add default/null/rewrite/lock/not/table/constraint : nullable|
  null=true|default|not valid|validate constraint|without rewriting|lock_timeout|instant|
  add column~null|널 허용|기본값
migration/alter/ddl/schema/index/statement/마이그레이션 lock/timeout/block/wait/short/잠금 :
  lock_timeout|statement_timeout|concurrently|algorithm=inplace|lock=none|pt-online|gh-ost|
  not valid|instant|autocommit_block|disable_ddl_transaction|잠금 시간
index/indices/색인/인덱스 lock/block/online/concurrent/writes/without/쓰기/잠 : concurrently|
  algorithm: :concurrently|inplace|lock=none|online|gh-ost|pt-online|disable_ddl_transaction|
  autocommit_block|addindexconcurrently
index/query/queries/sql/plan/slow/쿼리 explain/plan/analyz/us/check/verify/before/compare/실행/
  계획 : explain|query plan|index scan|seq scan|analyze|buffers|execution time|from~ms|ms to|
  실행 계획|인덱스를 타
backfill/migrat/updat/populat/delete/rows/bulk/data batch/chunk/small/limit/pieces/block/load :
  batch|chunk|rows a time|rows at a time|rows per|limit 1000|5,000|1,000|in steps|in_batches|
  find_each|iterator(|bulk_update|sleep between|1000건|건씩|나눠
backfill/migrat/data separate/outside/own/command/job/schema/deploy : outside|management command|
  separate|own job|script|rake task|background|after the deploy|별도
backfill/migrat/import/row/data/copy/transfer/export count/compare/verify/check/match/lost/lose/
  complete/reconcil/건수/누락 : count(*)|rows in|row count|checksum|same number|before and after|
  matches|sum of|diff|identical|rows out|0 missing|reconcil|건수|합계|일치
orm/model/schema sync/match/drift/together : autogenerate|makemigrations --check|
  in the same commit|prisma migrate|schema.prisma|no drift|model and migration|함께
select/column/fields/query star/only/needed/necess/all/specific/필요 : only~columns|.only(|
  .values(|select id|defer(|no select *|projection|pick(|필요한 열
sql/query/queries/database/statement/쿼리 parameter/bind/bound/inject/concat/interpol/placehold/
  prepared/string/format/user/문자열/바인딩 : %s|$1|:name|bind|parameter|placeholder|prepared|
  orm|sqlalchemy|execute(sql,|, (|, [|no string|no f-string|.filter(|text(|queryrow|바인딩|
  매개변수|파라미터
transact short/network/call/http/external/mail/inside/outside/long/hold/slow :
  outside the transaction|after commit|on_commit|after_commit|before the transaction|
  committed before|commit~then|outbox|no http|short|closed before|transaction.on_commit|
  커밋한 뒤|커밋 뒤|트랜잭션 밖
uniqu/duplicat/중복 constraint/index/database/key/enforc/insert/row/record/guarante/제약/방지 :
  unique|on conflict|upsert|insert ignore|primary key|duplicate key|merge into|add_index~unique|
  유니크|고유 제약
connect/pool/database/커넥션 pool/size/limit/clos/releas/reus/exhaust/leak/return/풀 : pool|
  max_connections|pgbouncer|with~connect|close()|maxopenconns|setmaxopen|hikari|idle|max:|
  release()|커넥션 풀
time/date/시간/시각 utc/timezone/zone/aware/tz/stor/offset/local/시간대 : utc|timestamptz|
  timezone|tzinfo|zoneinfo|aware|at time zone|iso 8601|z$|datetime.now(|pytz|instant|
  offsetdatetime|now(utc|kst|협정|시간대
date/time/day/range/period/interval/month/기간/날짜 inclus/exclus/half/end/open/bound/off/경계 :
  half-open|< end|>= start|exclusive|inclusive|next day|midnight|[start, end)|between|자정|미만|
  이상
money/amount/price/currency/total/payment/금액/가격 float/decimal/cent/integer/minor/exact/
  precis/binary/실수/정수/소수 : decimal|cents|integer|minor unit|bigdecimal|numeric(|int|money(|
  no float|bigint|quantize|pence|정수|원 단위|데시멀
payment/charge/order/refund/webhook/post/create/request/submission/결제/주문 idempot/twice/
  double/duplicate/once/repeat/again/key/중복/멱등/두 : idempotency|idempotent|same key|unique|
  on conflict|already|dedup|processed before|seen|event id|only once|one charge|one order|
  disabled while|ignored~second|double click|key is|reus|멱등|중복|한 번만|이미 처리
webhook/callback/event/delivery/웹훅 sign/verif/authent/hmac/서명/검증 : hmac|signature|
  compare_digest|x-hub|stripe-signature|constructevent|signed|secret|timingsafeequal|raw body|
  svix|서명
webhook/delivery/event fast/quick/respond/answer/ack/queue/async/2xx/200 : 200|202|at once|
  immediately|queue|enqueue|background|worker|delay(|acknowledg|바로 응답|큐에
webhook/signature/message replay/timestamp/old/window/age : timestamp|five minutes|5 minutes|300|
  older than|tolerance|nonce|replay|window|오래된
webhook/signature/body raw/unprocess/bytes/before/pars : raw|get_data()|request.body|
  bodyparser.raw|rawbody|express.raw|before~json|bytes|await request.text()|원본
event/message/job/handler/consumer/delivery/task/이벤트/메시지 idempot/duplicat/twice/once/dedup/
  redeliver/again/repeat/멱등/중복 : idempot|dedup|seen|already|unique|on conflict|
  processed_events|event id|message id|insert~first|skip~if|key|exactly once|inbox|setnx|claim|
  이미 처리|중복
message/job/queue/event/consumer/worker/task ack/commit/offset/after/confirm/lost/lose/crash :
  ack|after~processing|acks_late|commit~offset|manual commit|basic_ack|enable.auto.commit|
  only after|delete~message|redeliver|visibility|at least once|처리가 끝난 뒤
message/job/queue/event/task/poison dead/dlq/poison/park/quarantin/fail : dead letter|
  dead-letter|dlq|parked|failed queue|failed_jobs|max deliver|maxreceivecount|quarantine|
  error queue|after~attempts|데드 레터|실패 큐
queue/backlog/buffer/channel/topic/대기열 bound/limit/full/size/overflow/backpressure/grow/depth/
  maximum/넘치 : maxsize|bounded|limit|503|429|full|drop|backpressure|max_length|prefetch|
  capacity|reject|high water|넘으면|가득|상한
queue/backlog/lag/consumer/worker/job monitor/alert/metric/depth/lag/age/watch : lag|depth|
  oldest|alert|metric|gauge|backlog|prometheus|cloudwatch|알림
event/message/schema/topic/payload version/compat/evol/registry/schema/field : avro|protobuf|
  version|optional field|compat|schema|v2|json schema|스키마
outbox/event/publish/dual commit/transaction/database/atomic/consist/after : outbox|
  same transaction|on_commit|after commit|after_commit|cdc|debezium|transactional|커밋
order/sequence/out message/event/deliver : partition key|sequence|version|ordered|fifo|by key|
  older~ignored|updated_at|timestamp|순서
schedul/cron/job/task/timer/예약 overlap/concurren/twice/lock/once/parallel/simultan/single/겹 :
  lock|flock|advisory|forbid|concurrencypolicy|max_instances|without_overlapping|redlock|
  singleton|already running|leader|setnx|pid file|one at a time|skip~running|겹치|락
schedul/cron/job/task/backup/예약 monitor/alert/fail/notif/missed/heartbeat/silent/알림 :
  healthchecks|heartbeat|alert|pings|dead man|sentry|slack|mail|on failure|onfailure|notifies|
  pager|알림
batch/job/import/sync/pipeline/export/process/download/upload/transfer/long resum/restart/
  checkpoint/interrupt/continu/crash/where/이어 : checkpoint|resume|last id|cursor|offset|
  continue|picks up|from where|watermark|high-water|state file|skip~already|range:|이어|
  체크포인트|중단된
job/worker/task/long/request/report/email/heavy/slow/process background/async/queue/worker/
  offload/outside : queue|worker|celery|sidekiq|background|delay(|enqueue|async|bullmq|202|job|
  cron|워커|큐|비동기
import/row/record/line/data/feed/file bad/broken/invalid/skip/report/reject/collect/fail/
  quarantine/log : skipped|collected|reported|rejected|errors.csv|line number|dead letter|
  quarantine|logged|summary|listed|rejects|invalid rows|bad rows|row number|건너뛴|오류 목록
csv/tsv/delimiter/spreadsheet/excel quot/parse/module/librar/inject/formula/delimiter/encoding :
  csv.|csv module|papaparse|delimiter|quot|sniff|utf-8-sig|bom|escap|leading apostrophe|pandas|
  =, +|formula|univocity
data/input/source/file/schema/feed/column/export/ingest/pipeline valid/check/schema/expect/
  contract/quality/assert/test/null/type : great expectations|pandera|schema|dbt test|not_null|
  assert|row count|null share|dtype|validat|expects|pydantic|checks~columns|raises if|스키마|검증
partition/incremental/pipeline/load/etl/job rerun/idempot/replac/twice/overwrite/duplicate/again
   : overwrite|merge|delete~insert|partition|upsert|idempot|replace|same day|rerun|
  insert overwrite|멱등
model/training/run/experiment/result seed/reproduc/version/track/log/param/hyper/record : seed|
  mlflow|wandb|random_state|manual_seed|config|hydra|commit hash|logged|params|dvc|시드
model/baselin/metric/result/improv/compar/score baseline/compar/naive/better/previous/simple :
  baseline|versus|dummyclassifier|naive|compared|against|last~model|majority|previous model|auc|
  기준 모델
model/score/metric/result/experiment varian/spread/interval/deviation/several/seeds/runs/noise/
  confidence/significan : ±|+/-|std|seeds|confidence interval|bootstrap|five runs|runs|folds|
  variance|편차|신뢰 구간
model/predict/serv/deploy/production drift/monitor/fallback/version/canary/shadow/rollback :
  drift|shadow|canary|version|fallback|psi|monitor|rollback|a/b|baseline|모니터링
plot/chart/figure/graph axis/label/unit/title/scale/colour : xlabel|ylabel|axis|title|units|
  legend|label|colorblind|starts at zero|set_xlabel|축
privacy/personal/pii/gdpr/sensitive/개인정보 log/mask/redact/anonym/delete/retention/minim/store/
  analytics/export/consent/test/encrypt : mask|redact|hash|pseudonym|anonym|deleted after|
  retention|consent|faker|synthetic|scrub|drop~email|encrypt|opt-in|no personal|without~name|
  user id only|only the id|가명|마스킹|동의|파기
retention/retain/old/delete/expire/archive/purge/keep/long/보관 days/period/age/after/record/
  logs/data/backup/audit/기간/년/로그 : days|months|year|ttl|lifecycle|expire|purge|
  keep the last|older than|retention|rotat|deleted after|보관|일 뒤|년
pagin/page/list/offset/cursor/endpoint/result limit/page/cursor/stable/size/keyset/all/larg/
  unbounded/order : limit|cursor|page_size|offset|keyset|next_token|pagination|per_page|
  max~per page|next page|tie|(created_at, id)|페이지|커서
count/increment/total/aggregate/view race/atomic/lost/concurren/exact : f('|incr|atomic|
  set~=~+ 1|update~set|$inc|fetch_add|returning|counter + 1|원자
id/key/uuid/sequence guess/expos/random/uuid/sequential/public/collision : uuid|ulid|nanoid|
  random|secrets.token|opaque|public_id|hashid|무작위
"""
