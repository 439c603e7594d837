"""Words and anchor texts that say nothing; data only, `repair.text.words` reads it."""

# Function words only. Longer lists (1,298 English words in stopwordsiso) hold "system", "home" and "find",
# which are what some pages are about.
_ENGLISH = """
a about above after again against all also am an and any are as at be because been before being below
between both but by can could did do does doing don down during each few for from further had has have
having he her here hers him his how i if in into is it its just me more most my no nor not now of off on
once only or other our ours out over own same shall she should so some such than that the their theirs
them then there these they this those through to too under until up upon us very was we were what when
where which while who whom why will with would you your yours
"""
ENGLISH = frozenset(_ENGLISH.split())

# Of the seven languages of the repair page first, then of some others.
STOP_ANCHORS = """
here|click|click here|click this|click this link|this|this link|this page|this site|this article|link|
links|more|more info|more information|more details|read|read more|read on|read it|read full article|
learn more|see more|view more|show more|find out more|continue|continue reading|details|full story|
full article|go|go here|see|see here|view|open|download|download here|next|previous|prev|back|
back to top|top|up|home|home page|homepage|website|web site|site|url|source|permalink|edit|print|share|
image|photo|untitled|aquí|haga clic aquí|haz clic aquí|pulse aquí|clic aquí|más|leer más|ver más|
saber más|más información|seguir leyendo|enlace|este enlace|siguiente|anterior|volver|inicio|descargar|
ici|cliquez ici|cliquer ici|plus|en savoir plus|lire la suite|lire plus|voir plus|plus d'informations|
suite|lien|ce lien|suivant|précédent|retour|accueil|télécharger|aqui|clique aqui|clica aqui|mais|
leia mais|ler mais|saiba mais|ver mais|mais informações|continue lendo|ligação|próximo|seguinte|voltar|
início|baixar|هنا|اضغط هنا|انقر هنا|المزيد|اقرأ المزيد|قراءة المزيد|رابط|الرابط|هذا الرابط|التالي|السابق|
الرئيسية|تحميل|hapa|bofya hapa|bonyeza hapa|zaidi|soma zaidi|endelea kusoma|kiungo|ifuatayo|
iliyotangulia|nyumbani|mwanzo|pakua|यहाँ|यहां|यहाँ क्लिक करें|यहां क्लिक करें|और|और पढ़ें|अधिक|
अधिक पढ़ें|और जानें|लिंक|अगला|पिछला|होम|मुख्य पृष्ठ|डाउनलोड|hier|hier klicken|klicken sie hier|
klick hier|mehr|weiterlesen|mehr lesen|mehr erfahren|weiter|zurück|startseite|qui|clicca qui|leggi|
leggi tutto|continua a leggere|scopri di più|altro|avanti|indietro|klik hier|lees meer|meer|verder lezen|
volgende|vorige|здесь|тут|нажмите здесь|подробнее|далее|читать далее|читать дальше|ссылка|назад|devamı|
buraya tıklayın|buraya|klik di sini|di sini|selengkapnya|baca selengkapnya|tutaj|kliknij tutaj|więcej|
czytaj więcej|czytaj dalej|こちら|ここ|ここをクリック|続きを読む|もっと見る|詳細|点击这里|这里|更多|
阅读更多|详情|點擊這裡|這裡|여기|여기를 클릭|더 보기|자세히
"""
