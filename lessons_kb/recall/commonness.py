"""How common a term is anywhere, whatever one brain may hold.

A brain of six cards cannot tell that *test* is a common word and *allowlist* is not. These are
the shares of passages of about 150 terms that hold a term, rounded to six classes: counted in
manuals and reference pages of many tools (English) and in the messages of many programs (Korean,
Japanese, Chinese), raised to 0.03 for words of everyday requests to agents. Terms are written as
the analyzer gives them: stems and character bigrams. What is not listed is rarer than all of them.
No single entry matters: the gate does nearly as well with half of the table.
"""

from __future__ import annotations

from functools import lru_cache

_LATIN = (
    (
        0.25,
        (
            " command creat default exampl file function list name new one option project provid "
            "requir return run see set specifi type use valu version "
        ),
    ),
    (
        0.12,
        (
            " add allow api argument avail build call chang check code com configur contain "
            "content current data defin depend descript document error find first follow get give "
            "help https implement import includ inform instal instead librari like line main make "
            "method modul need note number object oper output packag pass path properti refer "
            "result sourc specif string support test time true user without work write "
        ),
    ),
    (
        0.06,
        (
            " 10 14 access addit alway appli array attribut automat base behavior block case class "
            "compat compil config connect const copi core detail differ direct directori display "
            "doc enabl end environ execut exist express fail fals featur field flag foo format "
            "full generat handl http ignor input instanc item json key languag let level link "
            "local match mean multipl non old order org otherwis part perform platform point "
            "possibl print process program read releas remov request search section singl size "
            "standard start system take target text tool tri two updat url valid variabl way "
            "window "
        ),
    ),
    (
        0.03,
        (
            " 11 12 16 abbrevi abort absent abstract accent accept accompani account accus acronym "
            "across action actor actress actual address adject admin admit adult adventur adverb "
            "advic advis afraid africa against age agenda ago agre airport album algebra "
            "algorithm alien align allot almost alon along alreadi altern america among amongst "
            "amount ampersand amsterdam angl angri angular anim ankl announc annual answer ant "
            "antonym anyon anyway apart apolog apologis app appear appendix appl applic appoint "
            "approach approv april archiv area arent arg argentina argu arm armi arrang arriv art "
            "articl asham asia ask assert assign associ assum asterisk astronaut async attend "
            "audio august aunt australia author auto autumn avatar averag avoid aw away azur babi "
            "back background backlog backpack backslash backup bacon bacteria bad bag balconi "
            "ballet banana band bank banner barbecu bargain basebal bash basic basketbal bathroom "
            "batteri beach bean bear beauti becom bedroom bee beef beer beg begin behind beij "
            "believ beneath berlin besid best better beyond bibliographi big bigger biggest bike "
            "bill binari bind biolog bird birth birthday biscuit bit bite black blame blank blog "
            "blood blue bodi boilerpl bold bomb bond bone bonus book bool boolean boot border "
            "bore borrow boss bottl bottom bowl boy brace bracket brain brainstorm brake branch "
            "brave brazil bread break breakfast breath brief bright bring britain brochur brother "
            "brown browser budget bug bullet bump bus busi butter butterfli button buy bye byte "
            "cach cake calcul calendar callback camera canada cancel candi cant cap capit caption "
            "car card care career carri carrot castl casual cat catch categor categoris caus cave "
            "cell celsius center centimet certain chair championship changelog chapter charact "
            "chart chase cheap checkbox checklist checkout cheer chees chemistri cherri chest "
            "chew chicken child china chines chocol choos chrome cinema circl citat cite citi "
            "citizen claim clarifi classifi clean cleaner cleanest cleanup clear click client "
            "cliff climat climb clipboard clock clone close closest closet cloud cloudi coach "
            "coal coat coffe cold collaps colleagu colon color colour column combin come comma "
            "comment commit common compani compar complain complaint complet complex compon "
            "comput con concert concis conclud condit confer confess confirm conflict confus "
            "congress consid consol conson constant context contin continu contract control "
            "convert convinc cook cooki cool copper corn corner correct correspond cost cotton "
            "cough couldnt count countri coupon courier cours court cousin cover coverag cow cpu "
            "crash cream cri crime critic criticis cron crop css csv cube cucumb cultur cup "
            "curious currenc custom cut cv cycl daili danc danger dark dash databas date daughter "
            "day deadlin deal death debug decemb decid decreas dedent deer definit degre delay "
            "deleg delet deliveri demand demo demonstr deni denmark dentist depart deploy deprec "
            "depth deriv describ deselect desert design desk desktop destroy detect determin "
            "develop deviat devic diagram dialog diamet dict dictionari didnt die diff differenti "
            "difficult dinner dinosaur dir director dirti disabl disagre discount discourag "
            "discov discuss dish dishwash distanc distinguish distribut divid divorc django "
            "docker docstr doctor doesnt dog dollar dolphin done dont door doubl doubt downgrad "
            "download dozen draft drag dragon draw drawer dress dri drink drive drop dropdown "
            "drum duck duplic dynam ear earli earliest earth earthquak easi easier easiest eat "
            "edg effect egg egypt eight elabor elbow elder elect electr element eleph eleven els "
            "email embassi emoji emphas emphasis employe empti encod encourag endpoint energi "
            "engin england english enough enrol ensur enter entri enum env envelop equal equat "
            "equival escap essay estim euro europ evalu evening event ever everyday everyon "
            "everywher evid exact exam except excerpt exchang excit exclam exercis exhibit exit "
            "expand expect expens experiment explain explicit export extend extens extern extract "
            "eye face fact fahrenheit failur fairi fake fall famili famous faq fashion fast "
            "fastapi faster fastest father favorit februari feedback feel feet festiv fetch fever "
            "filenam fill film filter fine finger finish finland fire firefox fish five fix "
            "fixtur flask flat flatten flight flip float flood floor flour flowchart flower flu "
            "flute flyer fog folder font food foot footbal footer footnot forbid forecast forest "
            "forev forget forgiv fork form formal formatt formula four fox fraction framework "
            "franc free freez french friday fridg friend frog front fruit fuel fun funer funni "
            "furnitur furthest futur galaxi galleri game garden garlic gas gcp general geographi "
            "geometri german germani ghost giraff girl git github gitlab glass global glossari "
            "glove gluten go goal goat golang gold golf gonna good goodnight goos gotta govern "
            "grab grade graduat gram grammar grandfath grandmoth grape graph grate grave gray "
            "great greec green greenhous greet grey grid group grow guess guid guidelin guilti "
            "guitar gun guy gym hair half halt ham hamster hand handbook handler hang happen "
            "happi hard harder hardest hardwar hat hate head headach header headlin health hear "
            "heart heavi height hello here hero hey hi hide high highest highlight hike hill hire "
            "histori hmm hockey hold holiday home homework honest honey hook hooray hope horoscop "
            "hors hospit host hot hotel hotfix hour hous hover how howto html hug hum humid hundr "
            "husband hyphen ice icon id idea identifi illustr im imag immedi immigr imposs improv "
            "inch incom increas indent index india indic info initi injuri inlin inner insert "
            "insid insist insur integ integr intend interest interfac internal internet interview "
            "invest invit invoic io ireland iron island isnt israel issu ital itali iter ive "
            "jacket jam januari japan japanes java javascript jealous jean jest job join joke js "
            "judg juic juli jump june jungl juri kanban keep kettl keyboard keyword kid kidney "
            "kill kilogram kilomet kind kinda king kiss kitchen knee knife knight know korea "
            "korean kotlin kubernet label lake lamp landlord laptop larg largest last late later "
            "latest laugh laundri law lawyer layout lazi lead leaf leaflet leagu learn leas "
            "leather leav lectur left legend lemon len lend length lentil lesson letter "
            "letterhead lettuc lgtm lib licens lick life lift light lightn limit lint linter "
            "linux lion lisbon listen liter littl live liver load loan locat lock log login logo "
            "logout london lone long longer longest look loop lose loss lot lotteri love low "
            "lower lowercas lowest lunch lung lyric mac machin maco madrid magic mail mailbox man "
            "manag mani manual map marathon march margin mark market marriag math matrix max mayb "
            "md measur meat medal median medicin meet melodi melon member memo memori mention "
            "menu merg messag meter mexico microwav middl middlewar migrat mile mileston milk "
            "million mind minist minus minut mirror miss misspel mobil mock mockup modal mode "
            "model modifi moment monday money mongo monkey monster month moon morn mortgag mother "
            "mountain mous mouth move movi much mug multipli murder muscl museum music mut mute "
            "mysql mysteri myth napkin navbar navi nearest necessari neck necklac negoti neighbor "
            "neighbour nephew nest network never newest newlin news newslett next nice nicer niec "
            "night nine nobodi nod node none noodl noon nope normal norway nose notic notif noun "
            "novel novemb now npm numpi nurs observ obvious occasion ocean octob odd offboard "
            "offer offic often oil oldest olymp onboard onion oop open opera opinion optim "
            "optimis orang organis organiz origin os ounc outer outlin outsid oven overrid owe "
            "owner pad page pagin pain paint painter pair pan panda paper paragraph paramet "
            "parcel parent parenthes parenthesi pari park parliament pars parser parti particular "
            "partner passport password past pasta paste patch patient paus pay pea peac peach "
            "pear pension peopl pepper percent percentag perfect perhap perimet period perman "
            "permiss person persuad petrol pharmaci phase phone photo photograph php phrase "
            "physic piano pick picnic pictur piec pig pill pin pink pip pipelin pirat pitch pizza "
            "place placehold plan plane planet plant plastic plate play player plead plot plum "
            "plural plus poem poet poland polic polici polit pond poor popul popular popup pork "
            "portug posit post poster postgr postman postpon pot potato pound powershel pragu "
            "prais prefer prefix pregnant prepar present presid press previous price princ "
            "princess printer prioriti prison privat probabl problem proceed produc profession "
            "profil profit promis promot prompt pronunci proofread prop propos pros protest "
            "prototyp proud public pull punctual purpl purs push put puzzl pytest python qualifi "
            "quarter queen queri question questionnair queue quick quicker quickest quit quiz "
            "quotat rabbit race radius rain raini rais random rang rank rare rat rate ratio raw "
            "react readi readm real realis realiz rear rearrang reason rebas rebuild receipt "
            "receiv recent recheck recip recogn recognis recommend recompil recreat rectangl "
            "recurs red redesign redi redo reduc ref refactor refere refin reformat refresh "
            "refuge refund regex regist regroup regular reject relabel relat relaunch religion "
            "reload rememb renam render rent renumb reopen reorder reorgan repair repeat rephras "
            "replac repli repo report repositori repres rerun resend reset resign resiz resolv "
            "resourc respons rest restart restaur restor restructur restyl resum retir retitl "
            "retri retro retrospect reus revenu revers revert review revis reword rework rewrit "
            "rhythm rice rich riddl ride right ring river road roadmap robot rocket role rome "
            "room root rotat rout row rubber rubi rude rule runtim russia rust sad safari safe "
            "salad salari sale salt sampl sanit satellit saturday sausag save say scala scare "
            "scarf scene schedul schema school scienc scope score scotland scratch screen "
            "screenshot script scroll sculptur sea season second secret secur seed seek seem "
            "select self sell semicolon senat send sentenc seoul separ septemb server servic "
            "setup seven sever shake shampoo shape share shark sheep shelf shell shi shift ship "
            "shirt shoe shop short shorten shorter shortest shoulder shouldnt shout show shower "
            "shrimp shrink shuffl sick side sidebar sign signatur signup silver similar simpl "
            "simplest simpli simplifi sinc sing singer singular sister sit site six skate "
            "skeleton sketch ski skin skip skirt sky slash sleep slide slider slogan slow slower "
            "slowest slowli small smaller smallest smell smile snake snippet snow snowi soap "
            "soccer sock soda sofa softwar solar soldier solut someon sometim somewher son song "
            "soon sorri sort sorta soup space spain spanish speak special speech speed spell "
            "sphere spider spinach spinner split spoon sport spot spreadsheet spring sprint sql "
            "sqlite squar squash squeez stage stamp stand standup star stash state static station "
            "statist status stay std steel step stick stock stomach stop store stori storm "
            "storyboard stove str strang strategi strawberri street stress stretch strikethrough "
            "strong struct structur stub student studi stuff style subhead submit subtitl sugar "
            "suggest suitcas sum summar summari summaris summer sun sunday sunni sup supervis "
            "sure surgeon surpris survey svelt swallow swap sweater sweden swift swim swipe "
            "symbol sync synonym syntax tab tabl tablet tag taglin tale talk tall tap task tast "
            "tax tea teach teacher team teenag teeth tell temperatur templat temporari ten tenant "
            "tenni tens termin theater theatr theme there theyr thief thing think thorough "
            "thousand thread threaten three throat throw thumb thunder thursday tick ticket tiger "
            "timelin tip tire titl toast toaster today toddler todo toe tofu togeth toggl toilet "
            "token tokyo tomato tomorrow tone tongu tooltip tooth top total touch tour tournament "
            "toward towel town tradeoff train trait translat travel treasur tree triangl trick "
            "trip tripl trivia trophi trouser tuesday tupl turkey turn turtl tutori twelv twice "
            "txt typescript typo ubuntu ugli ukrain umbrella umlaut unblock uncertain uncl "
            "unclear underlin underneath underscor understand undo unfreez unicorn uninstal unit "
            "univers universiti unix unless unlock unmark unmut unpin unstar untag untick unwrap "
            "upgrad upload upper uppercas urgent usag useless usual util vacat vaccin valley "
            "varianc vector vegan vegetarian verb verifi victim video vienna view villain vim "
            "violin virus visa visit vite volcano volleybal volum vote voucher vowel vscode vue "
            "wage wait wake walk walkthrough wall wallet wanna war warm warn warranti washington "
            "wasnt watch water wave weak weapon weather web webinar webpack websit wed wednesday "
            "week weekend weight weird welcom well werent wet weve whale what wheel where whisper "
            "whistl white whitespac whole whos wide width wife win wind windi wine winter wip "
            "wirefram wish wit witch wizard wolf woman wonder wont wood wool word workbook worker "
            "workflow worksheet workshop world worri wors worst wouldnt wound wow wrap wrist "
            "wrong xml yaml yarn yeah year yellow yen yep yes yesterday yo yoga yoghurt yogurt "
            "york young your zebra zero zoom "
        ),
    ),
    (
        0.015,
        (
            " 1.0.0 100 13 15 17 18 19 20 21 24 30 32 64 abl absolut accord activ advanc affect "
            "alia alias alloc alpha annot anyth appropri arbitrari around attempt await backward "
            "bar beta bin blob buffer builtin bundl captur chain channel chunk ci cli codeblock "
            "collect commandlin consist consolelog construct consum contributor copyright crate "
            "creation declar def desir dev dist domain due edit en entir eq err everyth exclud "
            "expos extra final forc forward fs fulli generic guarante hash higher ident impl "
            "implicit independ individu init int interact interpret invalid invoc invok involv "
            "least legaci less logic macro maintain major maximum metadata min minimum multi "
            "namespac nativ net nodej null obtain occur older omit pack param pattern pkg pointer "
            "pool port potenti pre prevent product proper protocol pub publish purpos py readabl "
            "record regardless registri relev remain respect restrict retriev satisfi sequenc "
            "socket someth spec src stabl stack statement stdout stream strict sub success suppli "
            "switch synopsi term timeout topic track transform treat typic undefin under unicod "
            "uniqu unknown unlik unsaf utf var variant various www yield "
        ),
    ),
    (
        0.006,
        (
            " 01 03 04 0x 1.0 1.1.0 1000 123 2.0 2.0.0 200 2015 2022 2026 22 23 25 26 27 28 3.0 "
            "3.11 3.12 3.13 3.14 3.15 3.3 3.8 3.9 31 32bit 40 42 65 80 abc abi abil achiev act "
            "adapt adjust agent analysi ap append arch architectur artifact ascii asserteq attach "
            "attr auth authent autom awar backend basi baz behav belong bound box bsd buf c++ "
            "caller capabl cast categori cc cd cert certif char charset choic closur cluster cmp "
            "coerc communic communiti comparison compos compress concurr constraint constructor "
            "contribut conveni convent convers coordin credenti cross cursor de decod decor "
            "delimit dep destin diagnost digit disk dispatch distinct dns dot durat earlier "
            "easili editor effici embed emit encount enforc es establish examplecom exclus exe "
            "expans experi explan expr ext factor factori fallback far filesystem fit flexibl "
            "flow fmt foundat frame fund gen glob googl grant greater guard gyp heap helper hint "
            "honor human immut impli inc inclus incorrect increment indirect infer inherit "
            "inspect instanti instruct interval introduc ip isol keyvalu lang larger launch lexer "
            "lifetim linker lookup ls manifest manipul manner markdown marker master mechan meta "
            "microsoft minim minor mit mod modif ms mutabl natur negat neither newer newli "
            "nonzero noth notifi num numer obj offici offset onlin op opt other overview own "
            "ownership panic parallel partial pend pep permit persist pi plain platformspecif "
            "plugin portion posix power pr practic preced precis preserv pretti primari primit "
            "println prior processor progress propag protect proxi ptr quiet reach reader readon "
            "referenc region reli remot represent res reserv resolut retain safeti scan sdk "
            "segment semant semver sensit serial serv session sh sha signal silent simul situat "
            "slice snapshot spawn ssl stabil stderr stdin storag subcommand subject subsequ "
            "subset substitut succeed suffix suit suitabl suppress svg symlink synchron sys tcp "
            "technic third thirdparti timestamp tls toml toolchain toplevel trace trail transfer "
            "transit trigger trust u32 u8 unset unspecifi unsupport ur uri usernam usiz usr v2 "
            "val verbos versionad viewer virtual visibl visual vs vulner whatev whenev wiki "
            "workspac wrapper x86 yml zip "
        ),
    ),
)
_OTHER = (
    (
        0.25,
        (
            " あり ある いま いる から があ きま くだ こと この さい され した して "
            "しな しま する せん たは ため ださ って てい てく でき でし です では "
            "とし ない には に対 は はあ まし ます ませ また りま れた れて れま "
            "を使 を表 んで ァイ ィレ イル イン エラ オプ クシ クト ケー コー ショ "
            "シン ジェ ジョ ステ スト タイ ター ック ット ップ テー ディ デー トの "
            "トを トリ バイ バー ファ フォ プシ プロ ポー メン ユー ョン ライ ラー "
            "リン ルの ルを ルー レク ログ ロー ンを ント ンド ンボ ーザ ージ ース "
            "ータ ート ード ープ ール 一个 不是 中的 作成 使用 信息 入力 出力 列表 "
            "创建 删除 参数 可以 名前 名称 命令 和 大小 失敗 失败 如果 字符 存在 "
            "定さ 実行 必要 必须 情報 所有 执行 指定 操作 支持 效的 数据 文件 文字 "
            "无效 无法 显示 服务 格式 模式 正在 没有 無効 版本 状态 用户 用的 的文 "
            "目录 程序 类型 系统 終了 表示 設定 読み 设置 输入 输出 选项 错误 需要 "
            "默认 가 값 개 경 구 그 기 기본 끝 내 니다 다 단 대 데 데이 동 디 "
            "디렉 때 또 또는 렉터 로 로그 를 만 메 명 명령 모 문 문자 바 버 버전 "
            "번 변 보 부 비 사 사용 상 상태 서 설 설정 소 수 스 스트 습니 시 "
            "시오 실 실패 실행 십시 아 안 않 않습 알 없 없습 없음 에 에서 연 오 "
            "오류 옵 옵션 용자 용하 용할 위 위치 으로 을 의 이 이름 이스 이터 인 "
            "일 일을 읽 입 입니 입력 있 있는 있습 자 작 작업 잘 잘못 전 정 정보 "
            "정하 제 주 중 지 지정 추 출 출력 터리 테 파 파일 표 표시 프 프로 필 "
            "하 하는 하지 함 합 합니 항 해 했습 형 형식 확 "
        ),
    ),
    (
        0.12,
        (
            " かり しい つか なり に失 のみ のデ のフ み込 られ るこ れば れる を指 "
            "アド イズ イト イブ ェク エン ォル オブ キー クス クリ コマ コン サイ "
            "サポ サー シス スを スク スタ セク セス セッ タベ ッシ ッダ テム デフ "
            "トさ ドを ドレ バッ パス ブジ ブル ヘッ ベー ボル マン メー モー ルが "
            "ルに ルト ル名 レス レー ロッ ンの ンク ング ンス ーが ーカ ーシ ーバ "
            "ーブ ーム 不支 不能 件名 件的 位置 允许 内容 削除 务器 効な 包含 匹配 "
            "可能 在 地址 場合 处理 変更 字列 字节 定し 定す 定义 定的 对象 引数 "
            "当前 形式 忽略 或 或者 打印 打开 找到 据库 敗し 时间 書き 有効 未知 "
            "标准 用于 的数 示す 符串 符号 索引 获取 見つ 读取 软件 込み 运行 进程 "
            "进行 连接 退出 配置 链接 가능 값을 값이 같 거나 검 것 결 경우 계 고 "
            "과 관 그램 나 내용 너 너무 는 는데 다시 다음 대한 도 동작 되었 되지 "
            "됩니 들 들어 라 라이 레 려면 로세 름을 리 리를 링 링크 마 만들 매 먹 "
            "메시 모드 모든 목 목록 못된 무 바이 반 발 방 번호 베이 변수 복 불 새 "
            "서버 선 선택 세스 션을 스크 스템 시간 시스 시작 시지 쓰 않았 않음 어 "
            "어요 업 없는 었습 에는 여 연결 열 예 올 와 요 원하 유 으 은 이미 "
            "이브 이블 이지 이트 인자 일에 일이 자가 자료 자를 자열 저 저장 적 접 "
            "조 종 좋 좋아 주소 줄 지만 지원 진 찾 처 처리 초 최 추가 커 코 코드 "
            "크 크기 클 키 타 터베 테이 트 트를 패 페 페이 포 필요 하고 하나 하려 "
            "하면 하십 하위 한 할 항목 해당 해야 해줘 헤 현 현재 호 화 "
        ),
    ),
    (
        0.06,
        (
            " 간 같습 같아 거 검색 게 겠습 겠어 결과 경고 고마 관리 국어 권 권한 "
            "그래 그런 그렇 그리 그인 글 기능 길 까요 까지 나는 나요 날 내일 넣 네 "
            "누 느 는지 능을 닫 대해 더 덱스 도록 동하 돼 돼요 되 될 됩 드를 들다 "
            "떻게 랜치 려줘 력하 록을 르겠 르다 리고 리다 립트 마다 마워 많 말 맞 "
            "몇 모듈 모르 못 무엇 문서 문에 문제 뭐 미 바꿔 받 방법 배 버튼 번역 "
            "변경 보고 보다 보여 부분 부터 분 브 브랜 빌 빌드 빠 빠르 빼 사람 사랑 "
            "삭 삭제 색 생 설명 설치 세요 수정 스에 슬 시다 심 싶 싶어 아니 아요 "
            "아이 아줘 아하 알려 어디 어떻 어줘 언 언제 업데 에러 영 영어 오늘 오래 "
            "올려 왜 요약 우 원 원인 위해 을까 음 음에 이상 이야 이유 인덱 일은 "
            "있어 있을 있지 작하 재 저녁 적어 전에 점 점심 정렬 정해 제거 젝트 조금 "
            "주말 지금 진행 찾아 치를 커밋 쿼 쿼리 크립 키지 테스 통 트가 패키 피 "
            "피곤 하거 하게 하겠 하기 하다 하세 한국 함수 해서 했 헤어 혹 혹은 화면 "
            "확인 환 환경 회 힘 힘들 "
        ),
    ),
    (
        0.03,
        (
            " 가하 감 같이 객 객체 계속 구현 기다 끝나 날짜 노 높 누르 니까 다리 "
            "단계 단어 대로 되는 드가 때문 래스 러리 령어 로운 리는 리자 맞지 먼 "
            "먼저 멈 메뉴 메인 메일 미널 미지 바뀌 버그 분석 브러 사합 새로 색상 "
            "생성 서를 언트 외 운 응 이동 이언 인지 인하 읽어 작성 장소 장하 전을 "
            "절 준 준비 중에 집 처럼 클라 클래 터 터미 토 폴 폴더 프레 필터 "
        ),
    ),
    (
        0.015,
        (
            " 가끔 가다 가입 가족 가해 간단 갈 갈까 감사 같다 거기 거해 걱 걱정 검토 "
            "게요 게임 계로 계산 계정 계획 고서 고쳐 고치 고파 곤하 곤해 골 골라 "
            "과를 괜 괜찮 교해 구가 구랑 궁 궁금 그거 그것 그게 그녀 그는 그들 그러 "
            "그만 그아 글자 금 금요 금하 기쁘 길다 까 꿔줘 뀌도 나눠 나다 나를 나쁘 "
            "나와 나중 난번 날씨 낮 낮다 내가 내년 내려 냐하 너는 넣다 넣어 네가 "
            "네요 녀는 녁에 노래 높다 놓 놓다 누가 누구 느려 느리 니라 니요 니지 "
            "다르 단하 닫다 닫아 달 달라 답 답변 대답 더니 더라 덜 도와 돈 돌 돌려 "
            "됐 됐어 되고 되나 되다 되면 될까 드인 든지 듣 듣다 들었 들은 디에 때마 "
            "뜻 뜻이 라고 라는 라서 람들 람이 랑 랑하 랑해 래되 래서 래요 러가 러나 "
            "러면 런데 런지 렇게 렇지 레임 려고 렵다 로워 로젝 롭다 르게 르면 름도 "
            "리뷰 리워 리팩 리해 링해 마나 마시 마음 만나 만약 만큼 만해 많다 많아 "
            "많이 말에 말하 맞다 맞아 매우 머 머지 먹다 먹어 먹을 먹혀 멈춰 메서 "
            "면서 면이 명해 목요 못하 무섭 무슨 문단 문장 물 뭐야 미안 미없 미있 "
            "밀번 밋하 바쁘 밖 밖에 받다 발표 밤 밥 배고 배포 버스 번에 본어 봐 "
            "부탁 분을 불안 비가 비교 비밀 비행 빨 빨라 빼다 쁘다 사다 사진 산해 "
            "상해 상황 새롭 샘 샘플 생각 서드 석해 선물 섭다 속해 수요 술 쉽 쉽다 "
            "슬프 시야 시해 싫 싫어 심심 심해 싶은 써 쓰다 씨가 아마 아웃 아주 아침 "
            "아파 아프 아해 안해 않아 알겠 알다 야기 야지 약에 약해 어나 어때 어렵 "
            "어로 어서 어제 어졌 어지 어하 얼 얼마 업무 없다 없어 없을 없지 엇을 "
            "었는 에게 에도 에요 여기 여줘 여행 역해 열다 열려 열어 영화 예쁘 예요 "
            "예제 오다 올까 올해 옮 옮겨 옷 와주 왜냐 외로 요리 요일 요하 우리 운동 "
            "울 울고 워크 원가 월 월요 유를 은데 음식 음악 음이 이거 이것 이게 이고 "
            "이디 이라 이랑 이렇 이메 이번 이슈 이에 인데 인을 일본 일어 일요 일정 "
            "읽다 임워 있다 자다 자주 작년 작다 작동 작아 재미 저거 저것 저기 저는 "
            "적다 절대 정돼 정리 정말 제가 제까 제목 제해 졌어 조차 족이 졸 졸려 좀 "
            "좋다 좋을 주다 주석 주세 중국 중요 줘 지난 지다 지로 지워 지하 지해 "
            "진짜 질 질문 짜 짜증 짧 짧다 차 찮아 찾다 책 천해 추천 춰줘 치면 치해 "
            "친 친구 커피 컬 컬럼 크다 탁하 토링 토요 통해 트해 튼을 틀 틀리 팔 "
            "팔다 패하 팩토 푸 푸시 프다 하네 하니 하더 하도 하든 하루 하자 하철 학 "
            "학교 한글 한다 할게 할까 할래 할지 합시 합쳐 항상 해결 해도 해요 했는 "
            "했다 했더 했어 행기 행이 행해 현해 화가 화요 회사 회원 회의 "
        ),
    ),
    (
        0.006,
        (),
    ),
)


@lru_cache(maxsize=10_000)
def get_share(term: str) -> float | None:
    """Return the share of passages that hold a term, None for one that is not listed.

    Strings are searched: a hook asks for thirty of three thousand, and a dict of all costs more.
    """
    word = f" {term} "
    for share, terms in _LATIN if term.isascii() else _OTHER:
        if word in terms:
            return share
    return None
