"""Titles of pages that are there, full of the words of missing pages, and the shells that applications send them in.

None of the titles is a bare notice ("Page not found"): a page whose whole title is one says that it is missing.
"""

import itertools

_NAMED = {
    "en": (
        "Trial and error|Gone with the wind|The Missing Link|Lost and found|Page not found - a history of the web"
        "|404 Festival|Gone Girl|Lost in Translation|Lost in Space|Wrong Turn|The Wrong Trousers|Paradise Lost"
        "|The Lost World|Missing persons|Error analysis in physics|Human error|Comedy of Errors|The Empty Chair"
        "|Forbidden Planet|The Forbidden City|Deleted scenes|Removed from the list: endangered species|Dead End Drive"
        "|Gone fishing|Gone in 60 seconds|Here today, gone tomorrow|Not Found: poems|Error 404: the band"
        "|Page 404 of the parish register|Highway 404|Area code 404|Peugeot 404|404 Not Found (album)|Room 404"
        "|Missing values in statistics|Missing data explorer|Lost cities of the Maya|Lost property office"
        "|Expired medicines: where to bring them|The Unavailable Man|Out of order: art from scrap|Broken Link Records"
        "|Dead links checker|Broken links in the food chain|Off the map: travels|You are lost without a compass"
        "|Are you lost? Orienteering for beginners|End of the road: a play|Wrong way round the world"
        "|There is nothing here but stars|The page you are looking for: bookbinding|Houston, we have a problem"
        "|Whoops! A book of accidents|Oops! Bloopers|Sorry! The board game|Error correcting codes|Type I error"
        "|Standard error of the mean|Rounding error simulator|Syntax error workshop|The File Not Found Show"
        "|No such page in the atlas|Something went wrong: stories of failure|Access Denied: a thriller"
        "|Bad Request, the podcast|Forbidden fruit|Gone with the Wind: cast and crew|Vanished civilisations"
        "|The page has gone: lost manuscripts|Does not exist: imaginary animals|No longer available: extinct crafts"
    ),
    "de": (
        "Verloren und gefunden|Vom Winde verweht|Das verlorene Paradies|Fehler machen klug|Fehlerrechnung in der Physik"
        "|Seite nicht gefunden: Geschichte des Internets|Nicht gefunden, aber gesucht|Fehler 404: die Band|Gelöschte Szenen"
        "|Verbotene Liebe|Die vermisste Tochter|Leider nein, leider gar nicht|Verschwundene Dörfer|Fundbüro der Schule"
        "|Haben Sie sich verlaufen? Kartenkunde|Datei nicht gefunden: Kurzfilm|Entschuldigung! Ein Hörspiel|Die leere Seite"
        "|Abgelaufen: Lebensmittel retten|Seite 404 im Kirchenbuch|Hoppla, jetzt komm ich|Fehlende Werte in Statistiken"
    ),
    "fr": (
        "Autant en emporte le vent|Objets trouvés|Le temps perdu|L'erreur est humaine|Page introuvable : histoire du web"
        "|À la recherche du temps perdu|Erreur 404, le groupe|Le chaînon manquant|Les disparus|Scènes supprimées|Interdit aux chiens"
        "|Le dossier introuvable|La page perdue|Désolé, je t'aime|Vous êtes perdu ? Lire une carte|Calcul d'erreur en physique"
        "|Paradis perdus|Une page blanche|Mauvaise adresse, comédie|Oups ! Le bêtisier|Page 404 du registre|Les animaux disparus"
    ),
    "es": (
        "Lo que el viento se llevó|Objetos perdidos|El eslabón perdido|Prueba y error|Página no encontrada: historia de la red"
        "|Error 404, la banda|Los desaparecidos|Escenas eliminadas|El paraíso perdido|Ciudades perdidas|No existe el olvido"
        "|Errores de medida en física|La página que buscas: taller de lectura|Vaya, vaya, aquí no hay playa|Lo sentimos, la película"
        "|El fruto prohibido|Personas extraviadas|Festival 404|La silla vacía|Te has perdido: orientación|Página 404 del libro"
    ),
    "pt": (
        "E tudo o vento levou|Achados e perdidos|O elo perdido|Tentativa e erro|Página não encontrada: história da rede"
        "|Erro 404, a banda|Cenas apagadas|O paraíso perdido|Cidades perdidas|Desculpe, não ouvi|A página perdida|Fruto proibido"
        "|Desaparecidos|Erros de medição|Não existe amor em SP|Festival 404|Página 404 do registo|O dia em que tudo sumiu"
    ),
    "it": (
        "Via col vento|Oggetti smarriti|L'anello mancante|Prova ed errore|Pagina non trovata: storia della rete|Errore 404, il gruppo"
        "|Scene eliminate|Il paradiso perduto|Città perdute|Ti sei perso? Leggere la mappa|La pagina che cerchi: laboratorio"
        "|Il frutto proibito|Gli scomparsi|Errori di misura|Ops! Papere|Festival 404|Pagina 404 del registro|La stanza vuota"
    ),
    "nl": (
        "Gejaagd door de wind|Gevonden voorwerpen|De ontbrekende schakel|Vallen en opstaan: fouten|Pagina niet gevonden: het web"
        "|Fout 404, de band|Verdwenen dorpen|Verloren paradijs|Helaas pindakaas|Oeps! Blunders|Vermiste personen|De lege stoel"
        "|Meetfouten in de natuurkunde|Verboden vrucht|Pagina 404 van het register|Verwijderde scènes|De verloren zoon"
    ),
    "pl": (
        "Przeminęło z wiatrem|Rzeczy znalezione|Brakujące ogniwo|Metoda prób i błędów|Nie znaleziono: tomik wierszy|Błąd 404, zespół"
        "|Zaginione miasta|Raj utracony|Sceny usunięte|Zakazany owoc|Zaginieni|Błędy pomiaru|Ups! Wpadki|Taka strona świata"
        "|Strona nie istnieje: historia sieci|Pusty pokój|Przepraszamy, remiza|Strona 404 księgi"
    ),
    "ru": (
        "Унесённые ветром|Бюро находок|Недостающее звено|Метод проб и ошибок|Страница не найдена: история сети|Ошибка 404, группа"
        "|Пропавшие без вести|Потерянный рай|Удалённые сцены|Запретный плод|Ошибка резидента|Извините, мы закрыты|Ничего не найдено: стихи"
        "|Вы заблудились? Ориентирование|Потерянный город|Погрешности и ошибки измерений|Пустой дом|Исчезнувшие животные"
    ),
    "tr": (
        "Rüzgar gibi geçti|Kayıp eşya bürosu|Kayıp halka|Deneme yanılma|Sayfa bulunamadı: internetin tarihi|Hata 404, grup"
        "|Kayıp şehirler|Kayıp cennet|Silinmiş sahneler|Yasak meyve|Kayıp kişiler|Ölçme hataları|Boş oda|Üzgünüz Leyla"
    ),
    "sv": (
        "Borta med vinden|Hittegods|Den felande länken|Försök och fel|Sidan hittades inte: webbens historia|Fel 404, bandet"
        "|Försvunna städer|Det förlorade paradiset|Borttagna scener|Förbjuden frukt|Saknade personer|Mätfel|Tyvärr, Charlie"
    ),
    "ja": (
        "風と共に去りぬ|落とし物センター|失われた環|試行錯誤|ページが見つかりません：ウェブの歴史|エラー404というバンド|失われた都市"
        "|失楽園|削除されたシーン|禁断の果実|行方不明者|測定誤差とエラー|空の部屋|お探しのページ：製本教室"
    ),
    "zh": (
        "乱世佳人：随风而去|失物招领|缺失的一环|试错法|页面未找到：网络史|错误404乐队|消失的城市|失乐园|删除的场景|禁果"
        "|失踪人口|测量误差与错误|空房间|抱歉打扰一下|找不到北"
    ),
    "ko": "바람과 함께 사라지다|분실물 센터|잃어버린 고리|시행착오|페이지를 찾을 수 없습니다: 웹의 역사|오류 404 밴드|사라진 도시|실낙원|삭제된 장면",
    "ar": "ذهب مع الريح|المفقودات|الحلقة المفقودة|التجربة والخطأ|الصفحة غير موجودة: تاريخ الشبكة|خطأ 404 الفرقة|المدن الضائعة|الفردوس المفقود|مشاهد محذوفة",
    "hi": "हवा के साथ गया|खोया और पाया|लुप्त कड़ी|प्रयास और त्रुटि|पेज नहीं मिला: वेब का इतिहास|त्रुटि 404 बैंड|खोये हुए शहर|लापता लोग|हटाए गए दृश्य",
    "sw": "Vilivyopotea na kupatikana|Kiungo kilichopotea|Jaribio na makosa|Ukurasa haukupatikana: historia ya wavuti|Kosa 404 bendi|Miji iliyopotea",
    "vi": "Cuốn theo chiều gió|Đồ thất lạc|Mắt xích còn thiếu|Thử và sai|Không tìm thấy trang: lịch sử mạng|Lỗi 404 ban nhạc|Thành phố đã mất",
    "id": "Lalu bersama angin|Barang hilang|Mata rantai yang hilang|Coba dan salah|Halaman tidak ditemukan: sejarah web|Kesalahan 404 grup musik|Kota hilang",
}
_LOADED = (
    "error|missing|gone|lost|404|not found|removed|deleted|empty|unavailable|expired|wrong|forbidden|does not exist|broken link"
    "|dead end|no longer available|page not found|nothing here|oops|sorry|denied|vanished|410 gone|error 404|missing page"
).split("|")
_AROUND = (
    "The {} archive of Riverbend",
    "{}: a short film",
    "How we count what is {} in a lake",
    "Poems about {} and love",
    "The {} songs of Kisumu",
    "Album of the week: {}",
    "{} | lesson 7, probability",
    "Museum of {} things",
    "Year 9 drama: {}",
    "{} - a game for two",
)


def loaded_titles() -> tuple[str, ...]:
    """More than 500 titles, each once."""
    named = itertools.chain.from_iterable(titles.split("|") for titles in _NAMED.values())
    made = (around.format(word) for word in _LOADED for around in _AROUND)
    return tuple(dict.fromkeys(title[:1].upper() + title[1:] for title in (*named, *made)))


LANGUAGES = tuple(_NAMED)

SHELLS = {
    "issue": "<title>{t}</title><h1>{t}</h1><div id=root></div><script src=/app.js></script>",
    "react": '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{t}</title><script defer src="/static/js/main.3f2a.js">'
    '</script></head><body><noscript>You need to enable JavaScript to run this app.</noscript><div id="root"></div></body></html>',
    "vue": '<html><head><title>{t}</title><script type="module" crossorigin src="/assets/index-1b2c.js"></script></head><body>'
    "<noscript><strong>We're sorry but {t} doesn't work properly without JavaScript enabled.</strong></noscript>"
    '<div id="app"></div></body></html>',
    "angular": '<html><head><title>{t}</title><base href="/"></head><body><app-root>Loading...</app-root>'
    '<script src="runtime.js" type="module"></script><script src="main.js" type="module"></script></body></html>',
    "angularjs": "<html ng-app=school><title>{t}</title><h1>{t}</h1><div ng-view></div><script src=angular.min.js></script>",
    "next": '<html><head><title>{t}</title></head><body><div id="__next"><header><h1>{t}</h1></header><main></main></div>'
    '<script id="__NEXT_DATA__" type="application/json">{{"props":{{}}}}</script><script src="/_next/static/main.js"></script>',
    "nuxt": '<html><head><title>{t}</title></head><body><div id="__nuxt"><div id="nuxt-loading" aria-live="polite">Loading...</div>'
    '</div><script>window.__NUXT__={{}}</script><script src="/_nuxt/a1.js" defer></script></body></html>',
    "svelte": '<html><head><title>{t}</title></head><body data-sveltekit-preload-data="hover"><h1>{t}</h1>'
    '<div style="display: contents"><script>import("/_app/start.js")</script></div></body></html>',
    "ember": '<html><head><title>{t}</title></head><body><h2>{t}</h2><div id="ember-basic-dropdown-wormhole"></div>'
    '<script src="/assets/vendor.js"></script><script src="/assets/school.js"></script></body></html>',
    "gatsby": '<html><head><title>{t}</title></head><body><div id="___gatsby"><div id="gatsby-focus-wrapper"></div></div>'
    '<div id="gatsby-announcer" aria-live="assertive"></div><script src="/webpack-runtime.js" async></script></body></html>',
    "flutter": '<html><head><title>{t}</title><link rel="manifest" href="manifest.json"><script src="flutter.js" defer></script>'
    '</head><body><script>addEventListener("load",()=>_flutter.loader.load())</script></body></html>',
    "blazor": '<html><head><title>{t}</title></head><body><div id="app"><svg class="loading"></svg></div>'
    '<div id="blazor-error-ui" style="display:none">An unhandled error has occurred. <a href="">Reload</a></div>'
    '<script src="_framework/blazor.webassembly.js"></script></body></html>',
    "menus": '<html><head><title>{t} | Riverbend School</title></head><body><nav><a href="/">Home</a> <a href="/a">About us</a>'
    '<a href="/c">Contact</a></nav><main><h1>{t}</h1><div class="content-area"></div></main>'
    "<footer>© 2024 Riverbend School, all rights reserved</footer><script src=/site.js></script></body></html>",
    "menus, filled by name": '<html><head><title>{t}</title></head><body><header><a href="/">Riverbend School</a></header>'
    '<h1>{t}</h1><p>Please wait…</p><div id="lesson-list"></div><footer>Back to home page</footer><script src=/l.js></script>',
    "only a heading": "<!doctype html><title>{t}</title><h1>{t}</h1><script src=/app.js></script>",
    "written by a script": "<html><head><title>{t}</title></head><body><h1>{t}</h1><script>document.write(text)</script></body></html>",
    "heading in a header": "<html><head><title>{t}</title></head><body><header><h1>{t}</h1></header><script src=a.js></script></body>",
    "heading alone": "<html><head><title>Riverbend</title></head><body><h1>{t}</h1><div id=root></div><script src=a.js></script>",
    "frame": '<html><head><title>{t}</title></head><body><h1>{t}</h1><iframe src="/inner.html"></iframe></body></html>',
    "frames": '<html><head><title>{t}</title></head><frameset cols="20%,80%"><frame src="m.html"><frame src="c.html"></frameset></html>',
    "element of its own": "<html><head><title>{t}</title><script type=module src=/e.js></script></head><body><h1>{t}</h1>"
    "<school-lesson lesson=7></school-lesson></body></html>",
    "game": "<html><head><title>{t}</title></head><body><h1>{t}</h1><canvas id=game width=640 height=480></canvas>"
    "<script src=game.js></script></body></html>",
    "viewer": '<html><head><title>{t}</title></head><body><h1>{t}</h1><embed type="application/pdf" src="/file.pdf"></body></html>',
    "refresh": '<html><head><title>{t}</title><meta http-equiv="refresh" content="0; url=/new/"></head><body><h1>{t}</h1></body></html>',
    "test page": "<!doctype html><title>{t}</title><script src=/resources/testharness.js></script>"
    "<script src=/resources/testharnessreport.js></script><div id=log></div><script>test(() => {{}})</script>",
    "test page without a body": "<!doctype html>\n<meta charset=utf-8>\n<title>{t}</title>\n"
    "<script src=/resources/testharness.js></script>\n<script>promise_test(async () => {{}}, '{t}')</script>",
    "picture": '<html><head><title>{t}</title></head><body><h1>{t}</h1><img src="comic.png"><script src=/stat.js></script></body></html>',
    "amp": '<html amp><head><title>{t}</title><script async src="https://cdn.ampproject.org/v0.js"></script></head><body>'
    '<h1>{t}</h1><amp-list width="auto" src="/list.json"></amp-list></body></html>',
    "hidden messages": '<html><head><title>{t}</title></head><body><div id=app></div><div class="error" style="display:none">'
    "<h2>Page not found</h2><p>Sorry, the page you are looking for does not exist.</p></div><script src=a.js></script></body></html>",
    "tagline": "<title>{t}</title><h1>{t}</h1><p>A project of the pupils of year nine.</p><div id=root></div><script src=a.js></script>",
    "tagline without a place": "<title>{t}</title><h1>{t}</h1><p>A project of the pupils of year nine.</p><script src=a.js></script>",
    "heading of its own": "<title>Riverbend School</title><h1>{t}</h1><script src=a.js></script>",
    "menus around a heading": '<html><head><title>{t} | Riverbend School</title></head><body><nav><a href="/">Home</a>'
    '<a href="/a">About us</a><a href="/c">Contact</a><a href="/n">News of the week</a><a href="/l">All lessons</a></nav>'
    "<main><h1>{t}</h1></main><footer>© 2024 Riverbend School, 12 River Road, all rights reserved, imprint</footer>"
    "<script src=/site.js></script></body></html>",
    "menus around a script": '<html><head><title>{t} | Riverbend School</title></head><body><nav><a href="/">Home</a>'
    '<a href="/a">About us</a><a href="/c">Contact</a><a href="/n">News of the week</a><a href="/l">All lessons</a></nav>'
    "<h1>{t}</h1><script>document.write(lesson)</script><footer>© 2024 Riverbend School, 12 River Road, all rights</footer></body></html>",
    "menus around a place without a name": '<html><head><title>{t} | Riverbend School</title></head><body><nav><a href="/">Home</a>'
    '<a href="/a">About us</a><a href="/c">Contact</a><a href="/n">News of the week</a><a href="/l">All lessons</a></nav>'
    "<h1>{t}</h1><div class=x3f></div><footer>© 2024 Riverbend School, 12 River Road, all rights reserved</footer>"
    "<script src=/site.js></script></body></html>",
    "way back": '<title>{t}</title><h1>{t}</h1><p><a href="/">Back to home page</a></p><script src=a.js></script>',
    "site's name": "<html><head><title>{t} - Riverbend</title></head><body><h1>{t}</h1><div class=grid></div><script src=a.js></script>",
    "site's name first": "<html><head><title>Riverbend: {t}</title></head><body><h2>{t}</h2><script src=a.js></script>",
}
"""Pages before their scripts have run, by the programs that make them."""
