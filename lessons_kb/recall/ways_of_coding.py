"""Code: errors, types, files, shells, threads, builds.

See `lessons_kb.recall.ways` for how a line is read.
"""

from __future__ import annotations

WAYS = r"""
exception/error narrow/specific/bare/broad/swallow/catch/precise : except valueerror|
  except keyerror|except oserror|except (|specific exception|only catch|narrow|no bare|
  logged and re-raised|raise from|from exc|from err|catch (e:|errors.is|errors.as|구체적인 예외
error/exception context/wrap/caus/chain/origin : raise~from|from exc|from err|%w|.context(|
  with_context|wrapped|cause|errors.wrap|{ cause|fmt.errorf|anyhow|원인을 포함
error check/ignor/handl/unchecked/return : if err != nil|errcheck|? operator|return err|unwrap|
  try/catch|try {|except|.catch(|is checked|check=true|set -e|result<|catch (
error/message helpful/name/say/tell/clear/actionabl/next/which/offend/user : message~name|
  names the|says which|says what|tells~what|with the line|line number|expected~got|did you mean|
  hint|how to|instead of a traceback|instead of a stack|readable|what to do|안내 메시지|어떤~인지
error exit/status/code/nonzero : exit 1|exit code|non-zero|nonzero|sys.exit|process.exit|os.exit|
  status 1|exits with|종료 코드
null/none/undefined/nil/optional check/handl/guard/safe : is none|is not none|!= null|=== null|
  == null|??|?.|optional|if not|early return|option<|nil|null check|requirenonnull|널 체크|없으면
dead/unused/orphan/leftover/obsolet/stale code/function/import/file/branch/variabl/helper/class/
  flag/depend : removed|deleted|unused|vulture|knip|no longer referenced|ruff|ts-prune|dead code|
  git rm|gone|no hits|미사용|안 쓰
duplicat/copy/repeat code/logic/helper/function : extract|shared|one function|helper|common|
  reuse|single place|both call|dedup|공통 함수|중복 제거
function/method/file small/short/long/split/size/larg : split|extract|lines|smaller|shorter|
  pulled out|broke|own function|own module|줄로|쪼개|나눴
public/api/signatur/interfac keep/chang/stable/unchanged/compat/preserv/break : signature|public|
  unchanged|old name|alias|re-export|default value|optional|keyword|backward|deprecat|same name|
  none of the callers|callers~unaffected|시그니처|공개~그대로
call/usages/import/refer updat/adjust/chang/fix/migrat/all/every : all callers|call sites|
  every caller|callers|imports~updated|usages|updated~places|files changed|grep|no references|
  references~updated|find and replace|codemod|호출부|참조를 모두
behaviour/behavior/output/refactor chang/same/unchanged/preserv/pure/separat/mix : no behaviour|
  no behavior|same output|pure refactor|byte for byte|identical|unchanged|existing tests|
  moves only|only moves|separate commit|동작~동일|동작은 그대로
regex/pattern backtrack/catastroph/redos/slow/linear/nested/patholog/adversari : re2|linear|
  possessive|atomic|backtrack|quantifier|bounded|length~limit|timeout|rewrote|no longer nested|
  replaced~parser|ms for
pars real/librar/proper/structured/instead/html/xml/json/csv/yaml : json.loads|json.parse|csv.|
  yaml.safe_load|beautifulsoup|lxml|ast.|parser|urlparse|new url(|library|tree-sitter|csv module|
  papaparse|defusedxml|파서
eval/exec/dynamic/arbitrary code/input : ast.literal_eval|literal_eval|no eval|eval~gone|parser|
  dispatch table|json.parse|allowlist|lookup table|mapping
path/separator/slash/backslash platform/windows/portab/os/cross/pathlib/join/hardcod : pathlib|
  path(|os.path.join|path.join|filepath.join|windows|posix|forward slash|pathbuf|os.sep|/ "
path/file/travers/user/folder/directory insid/outsid/resolv/escape/contain/travers/normal/stay/
  under/within/confin/root : resolve()|is_relative_to|realpath|startswith(root|commonpath|..|
  traversal|outside~root|outside~refus|basename|secure_filename|filepath.clean|filepath.localiz|
  os.root|canonicalize|inside the|stays in|chroot|절대 경로|상위 경로|벗어나
encod/utf/unicode/charset file/read/open/write/explicit/text/specif : encoding="utf-8"|
  encoding='utf-8'|utf-8|utf8|charset|bom|decode(|인코딩
atomic/rename/temp/partial/half/torn file/writ/replac/sav/output/data/config/stat : os.replace|
  os.rename|rename|temp file|temporary file|tmp|.tmp|.part|fsync|mkstemp|atomically|swap|
  moved into place|move~into place|namedtemporaryfile|never half|원자적|임시 파일|교체
temp/scratch/intermediate file/folder/directory/data/clean/remov/delet/trap : trap|tmp_path|
  mktemp|tempfile|temporarydirectory|deleted afterwards|finally|rm -rf "$tmp|cleaned up|
  removed~end|defer os.remove|using|unlink|임시
close/releas/dispos/free/leak/clean file/handle/connect/resource/socket/cursor/descriptor/stream/
  session : with|defer|finally|using|try-with|close()|.close|context manager|raii|drop|dispose|
  closed|released|returned to the pool|contextlib|aclose|await using|닫|반납|해제
finally/cleanup/teardown/exception/failur releas/clean/clos/unlock/restor : finally|with|defer|
  trap|aftereach|addcleanup|yield|context manager|on_exit|dispose|raii|teardown|정리
permission/mode/chmod/umask/own file/secret/key/privat/folder/director/socket : 0600|0o600|600|
  0700|700|chmod|umask|owner only|mode=|only~readable|권한 600
overwrit/clobber/exist file/output/data/target/destination/without : exists()|already exists|
  o_excl|'x'|"x"|-n|--force|refuses to overwrite|not overwrit|suffix|no clobber|backup|
  asks before|덮어쓰
larg/big/huge/memory/stream/chunk/entire/whole file/upload/download/export/csv/response/dump/
  dataset/input/result/read/load : stream|chunk|line by line|iter|generator|yield|fetchmany|
  server-side cursor|batch|pipe|constant memory|mb of memory|memory stays|readable|bufio|copy(|
  copyto|limit(|createreadstream|스트림|나눠 읽|한 줄씩
shell/command/subprocess/process/argument inject/list/array/argv/quot/escape/shell/safe/
  interpolat/string/untrusted/pass/user : subprocess.run([|shell=false|execfile|
  list of arguments|argument list|as a list|shlex|args array|argv|no shell|without a shell|
  shell=true~gone|exec.command|spawn(|quoted|인자 목록|배열로|셸을 거치지
subprocess/command/process/external/remote/script/request/call/wait/job/run/query time/hang/
  forever/deadline/limit/bound/long/endless/indefinit : timeout|deadline|withtimeout|
  after~seconds|seconds|context.withtimeout|abortsignal|killed after|statement_timeout|wait_for|
  settimeout|gives up|connect_timeout|readtimeout|max-time|타임아웃|제한 시간|초 안에|초 뒤|
  초가 지나
subprocess/command/process/script exit/status/return/fail/check/code/result : check=true|
  check_call|returncode|set -e|exit code|exit status|calledprocesserror|if err|pipefail|exit 1|
  $?|종료 코드
shell/bash/script strict/fail/error/unset/pipefail/stop/abort/set/errexit/first : set -e|
  pipefail|-euo|errexit|nounset|exit 1|trap
script/command/run idempot/twice/again/rerun/repeat/safe/second : idempot|second run|again|twice|
  if not exists|already|mkdir -p|ln -sf|no-op|skips what|skip~done|on conflict|--if-not|rerun|
  nothing changes|changed=0|두 번 실행|다시 실행|멱등
cli/command/option/flag/argument/subcommand help/document/usage/descri : --help|help text|help=|
  usage|argparse|click|typer|man page|docs|clap|도움말
cli/command/stdout/stderr/output separat/stream/error/machin/pipe/json/diagnost : stderr|
  file=sys.stderr|>&2|--json|eprintln|console.error|stdout only|표준 오류
signal/sigterm/sigint/interrupt/ctrl/shutdown/graceful handl/clean/stop/shutdown/exit/drain/
  finish/graceful : sigterm|sigint|signal.|keyboardinterrupt|trap|graceful|shutdown(|drain|
  finishes the|finish~before|ctrl-c|ctrl+c|in flight|in-flight|shutdowntimeout|
  terminationgraceperiod|처리 중인|마저
retry/retries/reconnect/backoff/wait/재시도 backoff/jitter/exponent/delay/increas/wait/grow/
  spread/space/간격/지수 : backoff|exponential|2 **|jitter|1, 2, 4|1 s, 2 s|doubl|
  wait_exponential|delay|random|sleep|wait_random|grow|longer|interval|spaced|1초, 2초|백오프|
  지수|늘려
retry/retries/attempt/loop/reconnect/재시도 limit/max/bound/cap/number/endless/forever/budget/
  give/finite/횟수/제한/상한 : up to~times|three times|3 times|five times|max_attempts|
  maxretries|max_retries|retries=|stop_after|at most|attempts|gives up|gave up|range(3)|range(5)|
  < 3|< 5|retry limit|dead letter|번까지|회까지|최대
retry/retries/재시도 idempot/safe/only/transient/temporary/network/read/4xx/status/which/
  permanent/일시 : only~timeout|5xx|503|429|connection error|transient|idempot|get only|not~4xx|
  client errors|final|4xx~not|retry_if|connectionerror|timeouts and|일시적|400번대
thread/concurren/race/parallel/shared/simultan safe/lock/protect/guard/synchron/mutex/state/
  access/serial : lock|mutex|synchronized|with self._lock|atomic|rwlock|threading.lock|
  asyncio.lock|sync.mutex|concurrenthashmap|queue|serializ|one at a time|actor|-race|
  select ... for update|for update|compare-and-swap|single writer|잠금|락|동기화
race/concurren/parallel/simultan test/reproduc/prove/stress/check/cover : -race|threads|
  in parallel|concurrently|promise.all|barrier|goroutines|stress|at the same time|two~at once|
  gather|simultaneous|clients at once|pgbench|executor|동시에|병렬로
lock/mutex/잠금 hold/short/brief/io/network/call/slow/await/while/inside/during/critical :
  outside the lock|released before|release~before|not hold|no longer hold|copies~under|
  critical section|shorter|only around|snapshot under|before the call|락 밖
lock/tables/row/account order/consistent/deadlock/same : in id order|sorted|same order|
  order by id|always~first|ascending|lock order|first and|deadlock|정렬|순서
deadlock/serialization/conflict retry/retri/victim/again : 40p01|40001|1213|retried|retry|
  deadlock|serializationfailure|다시 시도|재시도
async/event/loop/await/coroutine/ui/main/thread/request block/sync/offload/heavy/free : to_thread|
  run_in_executor|asyncio.sleep|httpx.asyncclient|aiohttp|worker|await|non-blocking|nonblocking|
  off the main|background|executor|web worker|spawn_blocking|dispatchers.io|queue|isolate|
  스레드로|워커로|비동기
task/goroutine/thread/coroutine leak/cancel/stop/track/reference/join/wait/exit/shutdown/end/
  lifetim/finish : cancel|waitgroup|errgroup|taskgroup|join(|goleak|ctx.done|await|stopped|
  context|daemon|shutdown|background_tasks|structured|취소
cancel/abort/context propagat/pass/respect/support/on/leave/unmount/stop : ctx|context|signal|
  cancel|abort|stops when|asyncio.cancellederror|pass~on|handed on|취소
deadline/context/timeout propagat/pass/downstream/call/forward : ctx|handed on|passed on|
  propagat|forwarded|remaining|deadline|grpc-timeout|전파|넘겨
stale/late/old/out/order/overtak/race respons/result/request/answer/reply : abort|latest|
  ignore~older|request id|sequence|cancel|discard|newer|only the last|takelatest|switchmap|stale|
  counter|이전 요청|마지막 요청
cache/caching/캐시 invalid/evict/clear/stale/purg/refresh/expir/ttl/outdated/update/무효/갱신/
  만료 : invalidat|evict|ttl|expire|purge|cache.delete|cache.clear|bust|del(|revalidate|max_age|
  maxsize|seconds|minutes|version~key|deleted~key|cache key|forget|무효|만료|지웁
cache/caching key/per/tenant/user/locale/separate/vary : key~include|keyed by|cache key|per user|
  per tenant|vary|prefix|namespace|part of the key|키에
cache/caching/memory size/bound/limit/maximum/grow/unbounded : maxsize|lru|max~entries|evict|
  bounded|ttl|limit|최대
memory/leak/heap/메모리 leak/grow/releas/free/측정/누수 : heap|rss|memory~flat|stays at|weakref|
  removeeventlistener|valgrind|asan|profil|mb|leak|unsubscrib|tracemalloc|drops|누수
buffer/string/array/index/memory bound/overflow/length/size/check/copy/terminat : snprintf|
  strlcpy|sizeof|bounds|length check|fgets|strncpy|.get(|asan|if (len|size_t|memcpy~len|capacity|
  경계
clone/copy/alloc hot/loop/avoid/reduc/unnecess : borrow|&str|reserve|with_capacity|reuse|
  preallocat|pool|no clone|without copying|slice|in place|sync.pool|복사 없이
clock/time/now/date test/freez/inject/fixed/fake/control/mock : freezegun|freeze_time|fake clock|
  usefaketimers|setsystemtime|clock|time machine|time-machine|passed in|injected|fixed date|시계|
  시간을 고정
config/setting/env/variabl/option valid/check/start/fail/early/miss/required/fast : at start|
  startup|on boot|exits~missing|fails fast|pydantic|basesettings|envalid|zod|required|
  raises~missing|schema|refuses to start|시작할 때|기동 시
config/setting/option/flag/env default/document/example/readm/list/sampl : .env.example|readme|
  documented|default|example|docs|table of|sample|commented|기본값|문서
log/print/debug/console remov/left/clean/statement : console.log~gone|print~gone|removed~print|
  logger|log.debug|no print|debug output|logging.|removed~log|디버그 출력
comment code/remov/out/leftover : removed|deleted|gone|git history|no commented|주석 처리된
plugin/extension/hook register/unload/disable/isolat/load : entry point|registered|disabled|
  sandbox|unload|try/except|plugin
generat/codegen/artifact/built/build hand/edit/regener/commit/source/directly/manual :
  regenerated|generator|make generate|codegen|protoc|npm run gen|from the schema|template|
  go generate|buf generate|re-ran|생성기|다시 생성
depend/packag/librar/update/upgrade/bump changelog/break/release/notes/migration/guide/major/
  advisor/read : changelog|release notes|breaking|migration guide|upgrade guide|none of~affect|
  audit|advisory|went through|변경 사항|릴리스 노트
depend/packag/librar/update/upgrade/bump one/separate/single/time/individual/own/unrelated : only|
  one at a time|separate|single|alone|own commit|own pr|just|rest of the lock|하나씩|만 올
depend/packag/librar licen/maintain/trust/popular/size/need/justif/necess : license|mit|apache|
  bsd|maintained|downloads|stars|weekly|last release|kb|no new dep|standard library|already|
  라이선스
deprecat/old/legacy/removed api/call/function/usage/warning : -w error|filterwarnings|
  no deprecation|replaced|new api|migrat|warning~gone|경고
warning/lint/compiler clean/zero/fix/error/no/treat/without/silent/suppress : no warnings|
  0 warnings|clean|werror|--max-warnings|-d warnings|quiet|without warnings|passes|경고 없
reproducib/determin/identical build/artifact : source_date_epoch|reproducib|same hash|identical|
  pinned|locked|digest|hermetic|bazel|nix
cross/platform/windows/mac/linux/os/python/node/browser/version matrix/test/run/support/check :
  matrix|windows|macos|ubuntu|3.9|3.12|node 18|tox|nox|both|runs-on|각 버전
minimum/supported/version python/node/runtime/declare/state/document : requires-python|engines|
  >=3|>=18|minimum|msrv|rust-version|declared|최소 버전
packag/publish/release/wheel/artifact content/includ/check/file/install/clean/venv/smoke :
  twine check|npm pack|unzip -l|installed the wheel|clean venv|pip install dist|files:|tar tzf|
  package contents|smoke|설치해
plan/approach/step/break/task first/before/state/small/share/outline/agree/propos : plan|steps|
  approach|first|agreed|outline|proposal|design|split|계획|단계
understand/read/explore/look/search/existing code/before/first/similar/pattern/history : read|
  looked at|looked for|found|existing|grep|searched|git log|git blame|git grep|rg|traced|먼저 읽|
  살펴|찾아
"""
