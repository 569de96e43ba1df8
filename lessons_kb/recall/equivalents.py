"""What a checklist and an answer say in different words, and how an answer says "not done".

Data only. Latin entries are stems as `analyze` gives them (a test holds them to it), so that a
hook need not stem the table; Hangul, Kana and Han entries are parts of words.
"""

from __future__ import annotations

EQUIVALENTS = """
test spec pytest jest vitest unittest testcas suit fixtur case scenario parametris parametr
regress 테스트 시험 テスト 测试 測試; verifi check confirm valid ensur inspect examin exercis
prove proof assert grep compar 확인 검증 검사 점검 검토 検証 確認 验证 检查 비교; cover coverag
exercis 커버; reject deni refus block disallow forbid forbidden 403 401 422 declin turn drop
rais bounc stranger unauthor unauthoris 거부 거절 차단 막 拒否 拒绝 반려; remov delet drop rm
strip prune purg eras unlink clean cleanup clear discard go older empti drain 제거 삭제 지우
지웠 없앴 없앤 정리 削除 删除 移除; write save store persist dump put record output emit 작성
저장 기록 쓴다 썼 적는다 적어 書 写入; log logger print audit trace consol journal syslog 로그
기록 출력 ログ 日志; secret token credenti password passwd apikey key auth 토큰 비밀번호 암호
자격 비밀 시크릿 密码 パスワード; allowlist whitelist allow permit author authoris know 허용
화이트리스트 許可 白名单; run execut exec launch invok start go 실행 돌렸 돌려 実行 运行;
document doc readm docstr changelog guid describ explain note mention comment 문서 설명 주석
文档 ドキュメント; migrat alemb flyway revis ddl schema 마이그레이션 이관; rollback revert
downgrad undo roll back restor backout 롤백 되돌 복원 回滚; lock mutex semaphor serialis serial
advisori 잠금 락 锁 ロック; atom transact renam replac commit 원자 트랜잭션 커밋; cach memo
memois memoiz redi 캐시 缓存 キャッシュ; invalid flush evict bust expir clear purg refresh
무효화 갱신 만료; escap sanitis sanit quot encod htmlspecialchar 이스케이프 转义; miss absent
null none undefin nil empti 비어 널 누락; error except fail failur throw rais crash break 500
오류 에러 예외 실패 エラー 错误; version bump upgrad releas semver 버전 업그레이드 版本; pin fix
exact lock digest 고정; config configur set environ variabl env option paramet 설정 환경변수
配置; folder directori dir path 폴더 디렉터리 디렉토리 경로; concurr parallel race thread
simultan writer worker 동시 병렬 경쟁 스레드 并发; restart reload reboot redeploy 재시작; duplic
twice idempot dedup dedupl doubl repeat 중복 멱등 重复; cancel abort interrupt stop kill termin
discard ignor 취소 중단 取消; measur benchmark profil time second ms latenc lighthous faster p50
p95 측정 성능 점수 벤치마크 測定; limit cap maximum max bind bound throttl quota exceed upper
refus ceil restrict truncat cut 제한 상한 한도 限流 上限 초과; timeout deadlin expir expiri
durat wait 타임아웃 마감; backoff exponenti jitter delay wait grow; retri reattempt attempt tri
redeliv 재시도 重试 再試行; size byte mb kb gb length width height dimens 크기 용량 サイズ 大小;
backup snapshot dump pg pgdump tar archiv 백업 备份; restor recov recoveri 복원 복구; deploy
rollout releas ship live product prod 배포 릴리스 部署; notifi notif alert announc inform tell
messag channel slack page 알린 알림 알리 알려 통지 공지 通知; product prod live custom real 운영
프로덕션 실제; copi snapshot clone replica duplic scratch stage restor 복사 사본 복제; normalis
normal canon nfc nfkc lowercas trim 정규화; encrypt cipher tls https ssl 암호화; mask redact
hide obscur scrub drop strip omit filter 가렸 가림 마스킹 가려 숨; hash bcrypt scrypt 해시;
checksum sha digest md5 sum hash 체크섬; seed randomst random 시드; random randomis uuid 무작위
랜덤; translat local languag 번역 로케일 언어; queue queu enqueu job async asynchron background
celeri worker outbox 큐 비동기 작업; index trigram 색인 인덱스; label arialabel arialabelledbi
aria alt caption titl 대체텍스트 라벨; dialog modal popup overlay drawer 대화상자 모달; shell
bash sh script shellcheck command cli 셸 스크립트 명령; imag pictur photo avatar img png jpeg
thumbnail icon 이미지 그림 사진 画像; mail email smtp messag confirm newslett 메일 이메일; deliv
deliveri send smtp 전송 발송; reader voiceov nvda access axe aria 접근성 리더; dst daylight
summertim 서머타임; display show view render visibl appear 표시 보이 보여; timezon tz utc zone
offset 시간대; time timestamp date datetim clock hour 시간 날짜 시각; wait poll await sleep
condit 기다 대기; caus root reason turn 원인 이유; batch chunk stream bulk dataload 배치 묶음
일괄 分批; fix repair solv correct mend resolv 고쳤 고침 수정 해결 修复; first beforehand prior
ahead earlier 먼저 전에 이전; afterward follow 후 뒤 다음; increment counter hit count 증가
카운터; signatur sign hmac 서명 签名; bind paramet parameteris parameter placehold prepar
매개변수 바인딩; sql queri statement 쿼리 질의; root privileg sudo admin uid user 권한 관리자;
temporari temp tmp part mktemp scratch 임시; exit trap final teardown 종료; preserv keep retain
surviv unchang untouch intact maintain 유지 보존 그대로; old older legaci deprec former previous
origin earlier alia 이전 기존 구버전; alia alias shim wrapper compat 별칭 호환; user custom
client visitor person member 사용자 고객 회원; account user 계정; sender caller chat author
origin id 보낸 발신; fetch request load xhr http download 요청 조회 请求; respons repli answer
result 응답 답변 결과; stale outdat late order old counter 오래된 낡은; compon widget view
element button page 컴포넌트 화면 요소; trigger open caus 트리거; unmount cleanup teardown
destroy dispos switch leav 언마운트; focus outlin 초점 포커스; colour color palett accent theme
dark light contrast 색상 테마 색; anim motion transit 애니메이션; replac recreat destroy forc
교체; plan planner explain 계획; flag toggl featur switch gate behind 플래그 토글; default 기본;
metric dashboard monitor watch observ graph rate alert 지표 모니터링 대시보드; csv tsv excel
spreadsheet; encod utf charset codec bom unicod 인코딩 유니코드 文字コード; decim float money
cent round 소수 반올림; file blob 파일 ファイル 文件; upload sftp put 업로드 アップロード 上传;
type mime kind magic 종류 형식 타입; content bodi byte magic payload 내용 본문; name renam
identifi 이름; extens suffix 확장자 拡張子; split splitter partit fold; group patient subject
그룹; train fit fold 학습 훈련; spread deviat varianc std interval; report mention state say
tell show name 보고 알려; rate minut throttl 분당 빈도; login log signin sign authent password
로그인 登录; lock lockout suspend; csrf xsrf; reject bad invalid malform corrupt; column field
컬럼 열 필드; row record entri 행 레코드; tabl relat 테이블; count number total 개수 건수 횟수;
sourc input origin upstream 원본 소스; target destin sink output 대상; conflict merg rebas 충돌
병합; forc leas; depend packag librari requir npm pip 의존성 패키지 라이브러리; major break;
contain docker pod imag dockerfil 컨테이너; memori ram heap mi limit 메모리; probe readi live
healthz health healthcheck 헬스체크; stage multistag two; lockfil ci freez lock; public export
api interfac endpoint 공개; function method helper resolv handler 함수 메서드; renam move
이름변경; call caller site usag everywher refer 호출; webhook callback event 콜백 웹훅 이벤트;
payment charg bill refund checkout order 결제 주문 支付; address ip; order sequenc sort; outsid
beyond; race reproduc deadlock; book entri; flaki intermitt unstabl 불안정; skip quarantin
disabl xfail ignor mute 건너 스킵 비활성; reason justif 사유 이유; silenc mute suppress skip;
page pagin cursor offset 페이지; depth nest deep; remot backend s3; state status 상태; protect
guard defend secur prevent 보호 방지; malwar virus clamav scan antivirus; metadata exif; audit
trail; screenshot captur 스크린샷; keyboard key tab escap 키보드; input form 입력; search find
filter 검색; debounc throttl; mobil phone io android devic 모바일 기기; network offlin connect
socket dns 네트워크 연결; websocket socket reconnect; header 헤더; cooki samesit httpon 쿠키;
permiss role acl access authoris author rbac 권한 접근; frontend client browser 브라우저 프론트;
server backend host servic 서버 서비스; loop iter infinit; thread goroutin task; close releas
dispos context defer 닫; sort determinist stabl order 정렬; empti zero blank none last 빈;
boundari edg corner limit minimum maximum 경계; negat invalid wrong bad; schedul cron night
timer 예약 스케줄; archiv retent expir 보관; consent optin; licens licenc; type mypi typescript
annot tsc 타입; lint linter eslint ruff clippi shellcheck format formatt prettier 린트; build
compil bundl bundler webpack vite make 빌드; ci pipelin workflow action github jenkin
파이프라인; generat codegen regener 생성; constant hardcod liter magic 하드코딩 상수; separ
split extract 분리; share common reus singl 공유 공통; fallback fall default degrad grace;
viewport respons narrow breakpoint mobil phone small; click press tap; scroll 스크롤; tooltip
hint popov; spinner load skeleton progress indic 로딩; caret cursor select; undo redo histori;
composit ime; shutdown grace drain sigterm termin stop exit 종료; close releas free dispos
destroy disconnect tear; pool connect databas; inflight flight run pend outstand ongo; uniqu
constraint distinct duplic collid collis 고유 유일; enforc constraint requir guarante mandatori
강제 필수; round quantiz 반올림; rule polici convent 규칙 정책; state specifi declar name write
document explicit spell 명시; emb embed inlin includ bundl 포함; includ contain part carri 포함;
attach includ add; pr pull mr merg; approv signoff confirm consent ask 승인; least minim minimum
reduc narrow readon 최소; sha commit digest hash; paus sleep delay wait throttl second; respect
honour honor obey compli follow 준수 지키; raw unprocess origin unmodifi; patholog worst
adversari malici hostil evil slow huge; suggest hint nearest closest similar; print show output
display dump list; rout send forward redirect go move; dead letter dlq deadlett quarantin park;
offset posit cursor commit; lag delay backlog behind; ttl expiri expir lifetim 만료; regress
reproduc reproduct repro 회귀 재현; independ isol self separ 독립 격리; sync synchronis synchron
align match consist agre togeth updat 동기 일치; owner own ownership belong uid 소유; symlink
link lstat; privat 0700 0600 chmod mode; crlf lf newlin eol end 줄바꿈 개행; regex regexp
pattern express 정규식; overlap concurr flock simultan 겹 중첩; anonymis anonym pseudonymis
익명; float doubl 부동소수점 실수; integ int cent whole 정수; strict stricter strictest requir;
mount wrap parent outer; listen handler subscript subscrib unsubscrib; hardcod liter constant
fix configur; disk storag space volum; runbook playbook procedur doc wiki; keychain keystor
vault secur; logout signout sign; main background thread; async asynchron background nonblock
await; readon immut freez; pagin page limit offset cursor; valid schema zod pydant joi pars
check guard 검증 유효성; xss html sanitis sanit dompurifi escap; cor origin; ratelimit throttl
429 limit; trace span telemetri opentelemetri; health healthi probe heartbeat ping; featur flag
rollout gradual percent canari; canari gradual percent stage; benchmark bench hyperfin perf;
rerun reran repeat; reproduc reproduct fail red first; green pass succeed success 통과 성공; edg
corner boundari limit empti zero; typecheck tsc mypi pyright type; snapshot golden baselin; mock
stub fake doubl; determinist reproduc seed fix stabl; cleanup tidi clean teardown remov dispos
afterward; consist uniform; readabl clear; messag text word; warn deprec; inform tell explain
document; exampl sampl demo; depend import third extern vendor stdlib packag; circular cycl
cyclic; unus dead obsolet orphan leftov; permiss privileg access role authoris author polici
scope; authent auth login credenti ident token; owner ownership tenant account belong; tenant
organis organiz workspac; leak expos exposur reveal disclos; internal privat implement stack
trace detail; generic neutral opaqu; n1 batch join prefetch preload eager dataload; foreign fk
refer; nullabl option; backfil popul fill migrat; downtim outag interrupt mainten window; expand
contract phase twostep; revers downgrad rollback revert undo back; precis decim digit round;
currenc money price amount cent 금액 통화; rtl bidi arab hebrew; font typefac; contrast wcag
ratio; alt altern caption; keyboard tab enter escap arrow key shortcut; hydrat ssr server; bundl
chunk size gzip; lazi lazili defer dynam ondemand 지연; memo memois memoiz usememo usecallback
cach; rerend render; hook effect useeffect; prop attribut properti; event messag; queue topic
broker kafka rabbitmq sqs; consum subscrib worker; produc publish emit; ack acknowledg commit;
idl inact unus dormant; gpu cuda; epoch checkpoint; metric accuraci f1 auc recal precis score;
baselin refer control; holdout valid hold test evalu; overfit leak leakag; pii person privaci
gdpr email name address 개인정보; vulner cve audit secur; gitleak trufflehog scan; rotat revok
renew 교체 회전; hmac signatur verifi; tls ssl https certif; sandbox isol jail seccomp; shell
inject subprocess argv; travers realpath resolv basenam normalis; tar tarbal zip archiv extract;
overwrit clobber replac exist; confirm prompt ask consent 확인 동의; dryrun dri preview simul
whatif; idempot repeat rerun twice safe; exit code status nonzero; stderr stdout output stream;
signal sigint sigterm interrupt; process child subprocess; cwd directori work; path pathlib
posix slash backslash window; os platform window maco linux; compil toolchain rustc msrv gcc
clang; memori leak heap alloc rss; cpu core; limit ceil budget bind; stack recurs depth;
overflow wrap satur; endian byte order; isr interrupt; watchdog timer; volatil barrier; power
batteri sleep wake; sensor read; unit metric imperi; frame fps; input payload bodi data; output
result; cost bill spend price; quota limit budget; region zone; bucket s3 storag blob; cdn edg
cloudflar; dns domain record hostnam; iam role polici permiss; tag label; terraform plan appli
tofu; replica replic standbi secondari; failov switchov promot; healthi readi; 보내 보냈 발송
전송 알림; chang switch replac swap convert 바꾸 바꾼 바꿨 바꿔 변경 교체 전환 대체; split chunk
batch divid 나누 나눠 나눈 분할 쪼개; 남기 남긴 남겨 남겼 기록 적는 적어 적었; put 넣는 넣어
넣었 둔다 두었 두고 뒀 추가; make creat build generat 만들 만든 생성 작성; move migrat reloc
extract 옮기 옮긴 옮겼 옮겨 이동 이관; reduc shrink lower decreas smaller cut 줄이 줄인 줄였
축소; stop halt paus disconnect 멈추 중단 중지 끊는 끊 정지; read pars load 읽는 읽어 읽도 읽었
읽기; store save persist keep 저장 보관 보존; ask confirm prompt 묻는 물어 확인; open 열기 여는
연다; ignor discard skip drop 무시 버린 버리; arriv late 도착 늦게; handl process treat 처리;
mock stub fake simul 모의 목업 가짜; bulk larg huge big million 대용량 대량 많은; expos leak
reveal disclos visibl 노출 드러나 유출; support compat 지원 호환; mark 표시; screen page ui 화면
페이지; period minut hour day 기간 시점; previous former 예전 이전 옛 기존; changelog histori
이력 변경이력; session login 세션; send post; keep stay remain; begin start; find detect discov;
leav left escap outsid; lose drop vanish; take claim acquir; give pass; choos select pick; grow
increas rais; feed kick; fresh clean scratch pristin empti new venv; environ venv contain
sandbox machin; real actual true genuin live; associ link connect tie bind htmlfor; rotat revok
reissu renew 폐기 재발급 발급; recov recoveri resum continu pick surviv 복구; idl quiet inact
keepal; short brief small quick minim; protect guard volatil lock mask mutex atom; resum continu
last; stamped thunder herd race jitter; announc alert live notifi; unpack extract extractal
unzip decompress; track measur count analyt; oper admin op; browser safari firefox chrome
chromium; devic phone emul simul; approv gate environ; precis exact; verifi signatur check;
refer link point; virtualis virtual window fixedsizelist 가상화; list 목록 리스트; chat convers
채팅 대화; contain docker 컨테이너 도커; root 루트; long 긴 길이; navig move arrow 이동; improv
faster better gain 개선 향상 빨라; effect result number 효과 수치; runtim 런타임; button 버튼;
input field 입력; column 칼럼; admin administr 관리자; member user signup 회원 가입; link url
링크 주소; comment 댓글; date day 날짜 일자; code 코드; branch 브랜치; variabl env 변수; class
클래스; interfac api 인터페이스; databas db sql postgr mysql sqlite 데이터베이스 디비; key 키;
valu 값; memori ram leak 메모리; cpu 시피유; disk volum storag 디스크 저장소; port 포트; domain
host 도메인; certif cert tls 인증서; encrypt ae 암호화; auth authent login 인증; secur vulner
보안 취약점; inject 주입 인젝션; build compil 빌드 컴파일; except error catch tri 예외; rang
boundari limit 범위 경계; number count 숫자 개수 횟수; reader voiceov 낭독기; font 글꼴 폰트;
sort order 정렬 순서; filter 필터; queri select 조회 쿼리; sync synchron 동기화; messag 메시지;
queue 대기열 큐; schedul cron 일정 예약; report 보고서 리포트; chart graph 차트 그래프; alert
alarm page 경보 알람; log audit 로그 감사; trace span 추적; health probe 상태검사; releas 릴리스
출시; readm doc document 문서 안내; guid instruct 안내 지침; exampl sampl 예시 예제; fixtur data
데이터 자료; case scenario 경우 사례; integr 통합; unit 단위; manual hand 수동 직접; automat
자동; option set flag 옵션 선택; default 기본값; limit max cap 제한 최대 상한; fast speed latenc
속도 빠르; slow 느린 느리; blank empti null 빈 공백; space whitespac 공백; line 줄; attach
upload 첨부; download export 내려받 다운로드; import 가져오; export 내보내; undo 취소 되돌리;
edit updat 편집 수정; logout signout 로그아웃; refund 환불; cart basket 장바구니; price amount
money 가격 금액; tax rate 세금 세율; coupon discount 쿠폰 할인; stock inventori 재고; product
item 상품; survey form 설문; wrap truncat ellipsi 말줄임; render 렌더; timer interval 타이머
간격; period week daili 주기; background 백그라운드; foreground 포그라운드; push notif 푸시;
camera 카메라; locat gps 위치; batteri 배터리; consent agre 동의; sensit pii person secret 민감
개인정보; mask redact hide 숨기 가리; overlap concurr 겹치 겹쳐; race concurr 경쟁 경합;
conflict collis 충돌; lock mutex 잠그 잠금 락; expir expiri ttl 만료 유효; refresh renew 갱신;
lifetim retent 보관 수명; cleanup clean remov 정리 청소; reus pool 재사용; compress gzip 압축;
decod 디코딩; pars parser 파싱 해석; format formatt 형식 서식; valid zod schema pydant check
검증 검사 유효성; cast convert convers 변환; origin sourc 원본 출처; target destin 대상 목적지;
sampl stage 스테이징; environ env 환경; chmod mode 권한; readi prepar provid 준비 마련; explain
describ state 설명 명시 밝힌; rule polici 규칙 방침 정책; histori changelog 이력 기록; client
browser frontend post bodi; trust believ reli ignor; delet exclud exclus filter; unsubscrib
optout 수신거부 수신; deni abort forbid forbidden 403 거부 거절; normal ordinari regular; keep
retent retain 보관; option altern choic variant; ms faster 전후 줄었 빨라; 잰다 측정 재는;
assist screen reader aria; expand collaps open close state; sprintf snprintf strcpi string;
attempt tri time retri 다시시도 재시도 시도; low end cheap slow weak; recal rememb; constant
time 상수; nativ semant real; gapless sequenc number
"""
"""Groups of words, ``;`` between them; a word may stand in several."""

COMMON = frozenset(
    """
    accept action actual add allow alway anoth anyth appli avail case chang code correct data do
    done ensur exist explicit first follow get give good handl happen has have instead keep kind
    least less let make mark must need never new offer one part perform possibl proper provid put
    real right set sure take thing treat two updat use user valu want way work write
    """.split()  # noqa: SIM905 - a table for people
)
"""Stems that say little about which item is meant."""

KOREAN_COMMON = frozenset(
    """
    가능 각각 경우 관련 다른 대한 대해 둔다 때 때는 때에 만든다 모두 모든 반드시 새 수 쓴다
    없는 위해 이미 있는 있도록 있다 전에 전체 제공 제공한다 준비 준비한다 직접 추가 추가한다
    처리 처리한다 하기 하는 한다 한 해당 것 곳 두 번
    """.split()  # noqa: SIM905 - a table for people
)

KOREAN_ENDINGS = tuple(
    sorted(
        """
        을 를 이 가 은 는 에 에서 에게 으로 로 와 과 의 도 만 까지 부터 마다 에는 에도 이나
        나 라도 보다 으로만 인지 인 한다 하는 하고 해서 하여 해야 했다 합니다 하지 하게 하기
        하면 하면서 된다 되는 되지 되면 되어 되는지 할 한 해 않는다 않게 않는 는지 는다 지
        기 다 고 게 면
        """.split(),  # noqa: SIM905 - a table for people
        key=len,
        reverse=True,
    )
)
"""Particles and verb endings, the longest first."""

FORBIDS = (
    r"(?i)\b(?:never|do not|don.?t|must not|mustn.?t|should not|shouldn.?t|avoid|refrain|"
    r"stop \w+ing|no longer|forbid)\b|^no\b|"
    r"지 (?:않는다|않기|않음|않아야|말|마|못하게|않게|않도록)|금지|말 것|안 된다|"
    r"不要|禁止|避免|しない|ない$"
)
"""In an item: it wants something not to happen."""

PURPOSE = r"(?:해|하여|해서|고) (.*지 않(?:게|도록).*)$"
"""In a Korean item: the negation only tells what the action is for."""

UNNEGATED = (
    r"(?i)\b(?:unchanged|untouched|intact|prevent|out of|independent|without|not|reject|refuse|"
    r"deny|forbid|block|ignore|disable|remove|delete|drop|stop|only|hide|unless|avoid|limit|"
    r"require)\b|거부|차단|막|제한|삭제|지우|무시|않"
)
"""In an item: its fulfilment may well be told with a "not"."""

UNTOUCHED = r"(?i)\b(?:unchanged|untouched|intact|without)\b|그대로"
"""In an item: doing it and leaving something alone are the same."""

CONDITION = (
    r"(?i)\b(?:when|whenever|if|unless|before|after|while|where|because|so that|in case|once)\b"
)
"""Opens a part of an item that tells when, not what."""

CONTRAST = r"(?i)\b(?:instead of|rather than|not just|but not)\b|, not\b"
"""Opens a part of an item that tells what is replaced."""

# From here on: patterns for lower case, which search several times faster than (?i).

NOT_DONE = (
    r"\b(?:(?:did|have|has|had|was|were|could)(?:\s?n['’o]?t|\snot)|not\s(?:been|able|yet)|yet\sto|"
    r"(?:is|are|can|do|does)(?:n['’]t|not|\snot)\s(?:be\s)?(?:\w+\s)?"
    r"(?:\w+ed|done|run|set|written|there|yet)\b(?!\s(?:by|in|on|with|from|as)\s)|"
    r"n['’]t\b[^.;:]{0,60}\byet|so\sfar|(?:i|we|was|were|been)\s(?:\w+\s)?skipped|skipping|left\s(?:out|alone|for)|"
    r"left\s[^.;:]{0,60}\b(?:in\splace|as\s(?:it|they)\s(?:is|are|was|were))|untouched|omitted|"
    r"unable\sto|postponed|deferred|out\sof\sscope|not\spart\sof|not\staken|"
    r"separate\s(?:task|change|ticket|issue|pr|pull)|"
    r"i\s(?:wanted|meant|intended|hoped)\sto|"
    r"still\s(?:there|open|off|lacks?|runs?|needs?|uses?|has|have|not)|(?:stays?|remains?)\s(?:off|open)|"
    r"nothing\s(?:was|has\sbeen)|no\stime|there\s(?:is|are)\snone|"
    r"(?:changed|touched)\sno|no\scode\s(?:was|is)\schanged|only\s(?:looked|read|answered|investigated)|"
    r"lacks|(?:is|are|still)\smissing|untested|unverified|could\sonly|remains?|"
    r"without\s(?:adding|writing|running|checking|testing|a\stest|tests))\b|"
    r"(?:^|[:,;]\s)(?:nobody|no\sone)\b|"
    r"않았|지\s?못|못했|못\s했|생략|건너뛰|건너뛴|제외했|빠졌|빠져|미뤘|미루|아직|하지\s않습니다|"
    r"손대지|还没|没有|未能|ていません|しませんでした|まだ"
)
"""In an answer: this was not done."""

DENIES = (
    r"\b(?:is|are|do|does|can|will)(?:\s?n['’]t|\s?not)\b|"
    r"\bno\b[^,;:.]*?\b(?:was|were|been|yet|tests?|testing|time|need)\b|"
    r"않습니다|않는다|없습니다|없다|없음"
)
"""In an answer: this is not so; a denial unless it stands in a relative clause."""

RELATIVE = r"\b(?:that|which|who|whose|if|when|where|unless|because|as|since|so)\b[^,;:]*$"

PUT_OFF = (
    r"\b(?:you\s(?:may|might|should|could|can)|we\s(?:should|could|might|can)|(?:would|could)\sbe|"
    r"(?:one|it|that)\s(?:could|might|would)|(?:would|could|might)\s(?:fix|help|solve|make|need|work)|"
    r"tell\sme\s(?:if|whether)|\bticket\s[a-z]+-\d|tracked\s(?:in|as|by)|maybe|perhaps|"
    r"i\swould\s(?:suggest|recommend)|consider(?:ed)?|recommend(?:ed)?|suggest|next\sstep|"
    r"follow-?up|todo|fixme|(?:for|until|it|that|them|do|add|fix|come|follow|done)\slater|tomorrow|"
    r"next\s(?:week|month|sprint)|at\ssome\spoint|one\sday|some\sday|in\s(?:the|a)\sfuture|"
    r"plan\sto|planned|planning|let\sme\sknow|want\sme\sto|if\s(?:you|wanted)|happy\sto|"
    r"should\s(?:probably|also|be\sadded)|worth\s\w+ing|can\sbe\sremoved|will\s(?:need|follow)|"
    r"needs?\sto\sbe|thought\sabout|waiting\sfor|revisit|currently|shall\si|feel\sfree|say\sthe\sword|"
    r"(?:may|might)\s(?:also\s)?want\sto|(?:i|we)['’]d\s(?:have\sto|suggest|recommend|do|add|also|like\sto)|"
    r"next\si\s(?:would|will)|before\syou\s(?:merge|deploy|upload|release|ship)|up\sto\syou|your\scall|"
    r"(?:someone|somebody)\s(?:should|may|might|needs|has\sto)|remains\sto\sbe|on\s(?:the|my)\slist|"
    r"the\snext\s(?:pr|change|release|version|step))\b|\?\s*$|"
    r"좋겠|권장|필요합니다|해야\s합니다|고려|추천|예정|나중|추후|까요|겠습니다|것\s같습니다|다음에|향후|보류|다음\s(?:작업|스프린트|배포)|建议|以后|必要があります|今後"
)
"""In an answer: somebody may do this some day."""

UNDONE = (
    r"\b(?:no|not|never|none|nothing|without|removed?|removes|deleted?|dropped|drops|stopped|"
    r"stops|replaced?|replaces|switched|instead|fixed|solved|resolved|now|longer|only|changed|"
    r"moved|converted|migrated|rather|redact\w*|mask\w*|strip\w*|hid(?:e|es|den)|avoid\w*|"
    r"refus\w*|forbid\w*|\w+n['’]t|cannot|gone|zero|free\sof|out\sof|outside|separate\w*|"
    r"ignored?|unchanged)\b|=\s?false\b|"
    r"않|제거|삭제|가렸|가려|마스킹|없앴|없습|대신|금지|막|바꿨|바꾸|변경|교체|고쳤|해결|없이|드러나지"
)
"""In an answer: something does not happen, or no longer."""

STILL_OPEN = r"\b(?:open|missing|left|todo|to\sdo|later|next|follow-?ups?|remaining)\b|남은|미완료"
"""In a heading of an answer: what stands below is not done."""

TICKED = r"^\W*\[x\]|^[-*\s]*[✅✔☑✓]"
UNTICKED = r"^[-*\s]*\[ \]|^[-*\s]*[❌✗✘☐⬜]"
"""In an answer: a box of a checklist."""

REFERS_BACK = r"^\W*(?:\w+\W+){0,2}(?:that|this|it|those|these)\b"
"""In an answer: a sentence that speaks of the one before."""
