"""Capability links of known services, with values drawn at random: `{b62:22}` is 22 letters and digits, and so on.

Made after the services' documentation and what their links look like; nothing here opens anything.
"""

import random
import re
import string
import uuid

_ALPHABETS = {
    "b62": string.ascii_letters + string.digits,
    "b64": string.ascii_letters + string.digits + "-_",
    "b36": string.ascii_lowercase + string.digits,
    "B36": string.ascii_uppercase + string.digits,
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "az": string.ascii_lowercase,
    "n": string.digits,
}
_PLACE = re.compile(r"\{(\w+)(?::(\d+))?\}")

TEMPLATES = tuple(
    line.strip()
    for line in """
    https://docs.google.com/document/d/1{b64:43}/edit?usp=sharing
    https://docs.google.com/spreadsheets/d/1{b64:43}/edit#gid=0
    https://docs.google.com/presentation/d/1{b64:43}/view
    https://docs.google.com/forms/d/e/1FAIpQLS{b64:49}/viewform
    https://docs.google.com/document/d/e/2PACX-1v{b64:79}/pub
    https://drive.google.com/file/d/1{b64:32}/view?usp=drive_link
    https://drive.google.com/drive/folders/1{b64:32}
    https://drive.google.com/open?id=1{b64:32}
    https://drive.google.com/uc?export=download&id=1{b64:32}
    https://forms.gle/{b62:17}
    https://photos.app.goo.gl/{b62:17}
    https://meet.google.com/{az:3}-{az:4}-{az:3}
    https://classroom.google.com/c/{b62:16}?cjc={b36:7}
    https://calendar.google.com/calendar/ical/name%40school.example/private-{hex:32}/basic.ics
    https://script.google.com/macros/s/AKfycb{b64:64}/exec
    https://www.dropbox.com/s/{b36:15}/marks.xlsx?dl=0
    https://www.dropbox.com/scl/fi/{b36:21}/marks.xlsx?rlkey={b36:25}&dl=0
    https://www.dropbox.com/sh/{b36:15}/AA{b64:27}
    https://www.dropbox.com/t/{b62:16}
    https://1drv.ms/w/s!A{b62:21}?e={b62:6}
    https://onedrive.live.com/redir?resid={HEX:16}!1234&authkey=!A{b64:14}&ithint=file
    https://onedrive.live.com/embed?cid={HEX:16}&resid={HEX:16}%211234&authkey=A{b64:14}
    https://school.sharepoint.com/:w:/g/personal/name_school_example/E{b64:54}?e={b62:6}
    https://school-my.sharepoint.com/:f:/p/name/E{b64:45}
    https://www.icloud.com/iclouddrive/0{b62:22}#Marks
    https://share.icloud.com/photos/0{b62:22}
    https://www.icloud.com/sharedalbum/#B0{b62:13}
    https://we.tl/t-{b62:10}
    https://wetransfer.com/downloads/{hex:46}/{hex:6}
    https://school.wetransfer.com/downloads/{hex:46}/{hex:46}/{hex:6}
    https://us02web.zoom.us/j/8{n:10}?pwd={b62:32}
    https://zoom.us/rec/share/{b64:64}.{b64:16}
    https://zoom.us/rec/play/{b64:80}
    https://teams.microsoft.com/l/meetup-join/19%3ameeting_{b62:48}%40thread.v2/0?context=%7b%22Tid%22%3a%22x%22%7d
    https://teams.live.com/meet/{n:13}?p={b62:16}
    https://join.slack.com/t/school/shared_invite/zt-{b36:9}-{b64:22}
    https://files.slack.com/files-pri/T{B36:8}-F{B36:8}/marks.pdf
    https://hooks.slack.com/services/T{B36:8}/B{B36:8}/{b62:24}
    https://discord.gg/{b62:10}
    https://discord.com/invite/{b62:10}
    https://discord.com/api/webhooks/{n:18}/{b64:68}
    https://chat.whatsapp.com/{b62:22}
    https://t.me/joinchat/{b64:22}
    https://t.me/+{b64:16}
    https://signal.group/#CjQKI{b64:80}
    https://www.notion.so/school/Marks-of-class-{hex:32}
    https://school.notion.site/{hex:32}
    https://airtable.com/shr{b62:14}
    https://airtable.com/app{b62:14}/shr{b62:14}
    https://airtable.com/invite/l?inviteId=inv{b62:14}&inviteToken={hex:64}
    https://trello.com/b/{b62:8}/marks
    https://trello.com/invite/b/{b62:8}/ATTI{b62:40}/marks
    https://www.figma.com/file/{b62:22}/Poster
    https://www.figma.com/design/{b62:22}/Poster?node-id=0-1&t={b62:16}-1
    https://miro.com/app/board/uXjV{b64:8}=/
    https://padlet.com/teacher/biology-{b36:16}
    https://doodle.com/poll/{b36:16}
    https://doodle.com/meeting/participate/id/{b62:8}
    https://calendly.com/d/{b36:3}-{b36:3}-{b36:3}/parents-evening
    https://calendly.com/cancellations/{uuid}
    https://raw.githubusercontent.com/school/marks/main/class.csv?token=GHSAT0{B36:34}
    https://gist.github.com/teacher/{hex:32}
    https://gitlab.com/dashboard/issues.ics?feed_token={b64:20}
    https://gitlab.com/api/v4/projects/1/repository/archive?private_token=glpat-{b64:20}
    https://gitlab.com/-/snippets/1?rss_token={b64:20}
    https://cloud.school.example/index.php/s/{b62:15}
    https://cloud.school.example/s/{b62:15}/download
    https://owncloud.school.example/s/{b62:15}
    https://cloud.school.example/public.php/dav/files/{b62:15}/
    https://seafile.school.example/f/{hex:20}/
    https://seafile.school.example/d/{hex:20}/
    https://seafile.school.example/u/d/{hex:20}/
    https://moodle.school.example/calendar/export_execute.php?userid=5&authtoken={hex:40}&preset_what=all
    https://moodle.school.example/admin/tool/mobile/autologin.php?userid=5&key={hex:32}
    https://moodle.school.example/webservice/pluginfile.php/1/marks.pdf?token={hex:32}
    https://moodle.school.example/login/logout.php?sesskey={b62:10}
    https://moodle.school.example/login/confirm.php?data={b62:15}/teacher
    https://www.overleaf.com/read/{az:12}
    https://www.overleaf.com/read/{az:12}#{hex:6}
    https://www.overleaf.com/{n:10}{az:12}
    https://pad.school.example/p/r.{hex:32}
    https://pad.school.example/p/{b62:16}
    https://md.school.example/{b64:22}
    https://hedgedoc.school.example/s/{b64:9}
    https://pastebin.com/{b62:8}
    https://send.vis.ee/download/{hex:16}/#{b64:22}
    https://privatebin.school.example/?{hex:16}#{b62:44}
    https://onetimesecret.com/secret/{b36:31}
    https://mega.nz/file/{b62:8}#{b64:43}
    https://app.box.com/s/{b36:32}
    https://www.loom.com/share/{hex:32}
    https://vimeo.com/{n:9}/{hex:10}
    https://school.example/accounts/reset/MjM/{b36:6}-{hex:32}/
    https://school.example/users/password/edit?reset_password_token={b64:20}
    https://school.example/password/reset/{hex:64}?email=name%40school.example
    https://school.example/wp-login.php?action=rp&key={b62:20}&login=teacher
    https://school.example/reset-password/{hex:40}
    https://school.example/auth/reset?c={b62:12}
    https://school.example/account/verify/{b64:32}
    https://school.example/verify-email/5/{hex:40}?expires=1789000000&signature={hex:64}
    https://school.example/users/confirmation?confirmation_token={b64:20}
    https://school.example/activate/{b36:24}
    https://school.example/magic-link/{b64:43}
    https://school.example/login/{uuid}
    https://school.example/auth/callback?code={b62:30}&state={b62:16}
    https://school.example/unsubscribe/{b62:24}
    https://school.example/newsletter/unsubscribe?u={b62:12}
    https://school.us1.list-manage.com/unsubscribe?u={hex:25}&id={hex:10}&e={hex:10}&c={hex:10}
    https://school.example/news?utm_source=letter&mc_cid={hex:10}&mc_eid={hex:10}
    https://marks.s3.amazonaws.com/class.pdf?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={B36:20}&X-Amz-Signature={hex:64}
    https://marks.s3.amazonaws.com/class.pdf?AWSAccessKeyId=AKIA{B36:16}&Expires=1789000000&Signature={b62:27}%3D
    https://storage.googleapis.com/marks/class.pdf?X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Signature={hex:256}
    https://storage.googleapis.com/marks/class.pdf?GoogleAccessId=a@b.iam.gserviceaccount.com&Expires=1&Signature={b62:80}
    https://school.blob.core.windows.net/marks/class.pdf?sv=2022-11-02&st=2026-01-01&se=2026-02-01&sr=b&sp=r&sig={b62:43}%3D
    https://d111111abcdef8.cloudfront.net/class.pdf?Policy={b62:120}&Signature={b62:200}&Key-Pair-Id=K{B36:13}
    https://cdn.school.example/class.pdf?md5={b64:22}&expires=1789000000
    https://maps.googleapis.com/maps/api/staticmap?center=Rome&key=AIza{b64:35}
    https://www.surveymonkey.com/r/{B36:7}
    https://www.surveymonkey.com/r/?sm={b64:32}
    https://school.typeform.com/to/{b62:8}
    https://forms.office.com/r/{b62:10}
    https://forms.office.com/Pages/ResponsePage.aspx?id={b64:72}
    https://meet.jit.si/WidePupilsReadQuietly
    https://school.webex.com/school/j.php?MTID=m{hex:32}
    https://bbb.school.example/b/tea-{b36:3}-{b36:3}-{b36:3}
    https://bbb.school.example/rooms/{az:3}-{az:3}-{az:3}-{az:3}/join
    https://na3.docusign.net/Signing/EmailStart.aspx?a={uuid}&acct={uuid}&er={uuid}
    https://eu1.documents.adobe.com/public/esign?tsid=CBFCIBAA3AAABLblqZh{b64:60}*
    https://outlook.office365.com/owa/calendar/{hex:32}@school.example/{hex:52}/calendar.ics
    https://school.example/calendar/feed/{b62:24}.ics
    https://school.example/api/page?jwt=eyJhbGciOiJIUzI1NiJ9.eyJ{b64:40}.{b64:43}
    https://school.example/view/eyJhbGciOiJIUzI1NiJ9.eyJ{b64:40}.{b64:43}
    https://school.example/saml/acs?SAMLResponse={b62:300}&RelayState=%2F
    https://school.example/marks.jsp;jsessionid={HEX:32}
    https://school.example/marks.php?PHPSESSID={b36:26}
    https://school.example/(S({b36:24}))/marks.aspx
    https://school.example/forum/index.php?sid={hex:32}
    https://school.example/report?key={b62:12}
    https://school.example/report?for=name@school
    https://school.example/report?for=name%40school.example
    https://school.example/greeting/name@school.example
    https://school.example/invite/{b62:8}
    https://school.example/join?code={B36:8}
    https://school.example/share/{b62:12}
    https://school.example/shared/{uuid}
    https://school.example/photos/album/{b64:32}
    https://school.example/{b64:43}
    https://school.example/files/view?id={b62:33}
    https://teacher:secret@school.example/marks
    https://quizlet.com/join/{b62:9}
    https://kahoot.it/challenge/0{n:7}?challenge-id={uuid}_{n:13}
    https://www.evernote.com/shard/s1/sh/{uuid}/{b64:22}
    https://www.canva.com/design/DA{b64:9}/{b64:22}/view
    https://app.asana.com/-/share?s={n:16}-{b62:40}
    https://miro.com/welcomeonboard/{b62:72}
    https://transfer.sh/{b62:10}/marks.pdf
    https://www.swisstransfer.com/d/{uuid}
    https://web.tresorit.com/l/{b62:5}#{b64:22}
    https://login.microsoftonline.com/common/oauth2/redirect?code=0.A{b64:60}&session_state={uuid}
    https://school.example/booking/cancel?id=5&hash={hex:32}
    https://school.example/rsvp/{b62:10}
    https://school.example/guest-access/{hex:32}
    https://school.example/survey?respondent={b62:16}
    https://school.example/f/{b62:9}
    https://school.example/view.php?id={hex:32}
    https://school.example/view?doc={hex:32}
    https://school.example/p/{hex:16}
    https://school.example/dl/{b36:10}
    https://school.example/download.php?h={hex:32}&f=marks.pdf
    https://school.example/g/{hex:24}
    https://school.example/pupil/{b64:22}/marks
    https://school.example/?{hex:40}
    https://school.example/?s={b62:20}
    https://school.example/portal#/reset/{b62:30}
    https://school.example/portal#token={b62:30}
    https://school.example/e/{b64:16}
    https://school.example/users/5/edit?auth={hex:16}
    https://school.example/rss/private/{hex:32}.xml
    https://school.example/ical/{uuid}.ics
    https://school.example/feed.ics?k={b62:12}
    https://school.example/parents/consent/{uuid}
    https://school.example/confirm?c={hex:32}
    https://school.example/account/activate?u=5&a={hex:32}
    https://school.example/nl/open/{b64:60}
    https://click.mail.example/ls/click?upn={b64:200}
    https://school.example/order/{uuid}
    https://school.example/receipts/{b62:27}
    https://school.example/pay/cs_live_{b62:58}
    https://invoice.stripe.com/i/acct_{b62:16}/live_{b62:80}
    https://checkout.stripe.com/c/pay/cs_test_{b62:58}
    https://www.paypal.com/invoice/p/#{B36:16}
    https://school.example/quiz?attempt={b62:14}
    https://app.school.example/boards/{b64:11}=/
    https://school.example/session/{hex:32}/join
    https://school.example/room/{az:4}-{az:4}-{az:4}
    https://school.example/meeting/{n:9}?passcode={n:6}
    https://school.example/set-password?uid=MTI&t={b36:6}-{hex:32}
    https://school.example/webmail/?_task=mail&_token={b62:32}
    https://school.example/file.php?name=marks.pdf&expires=1789000000&st={b64:22}
    https://school.example/video/{b64:20}/hls?hdnts=exp=1~acl=/*~hmac={hex:64}
    https://school.example/s/{b62:6}
    https://school.example/api/v1/export?access={b62:24}
    https://school.example/student/1234?pin=4711
    https://school.example/report/{hex:64}
    https://school.example/u/{hex:32}
    https://school.example/mail/?to=anna.muster@school.example
    https://school.example/profile/anna%40school.example
    https://school.example/welcome?name=Anna&email=anna%40school.example
    https://school.example/pub/{b62:22}
    https://school.example/secret/{az:24}
    https://school.example/timetable/{B36:26}
    https://school.example/cal/{b64:27}.ics
    https://school.example/gallery?album={hex:32}
    https://school.example/l/{b62:7}
    """.splitlines()
    if line.strip()
)


ORDINARY = tuple(
    line.strip()
    for line in """
    https://school.example/static/app.3f9a1c2b.js
    https://school.example/static/app.3f9a1c2b4d5e6f708192a3b4c5d6e7f8.css
    https://git.example/linux.git/commit/?id=1da177e4c3f41524e886b7f1b8a0c1fc7321cac2
    https://git.example/gitweb/?p=x.git;a=commit;h=1da177e4c3f41524e886b7f1b8a0c1fc7321cac2
    https://github.com/a/b/commit/1da177e4c3f41524e886b7f1b8a0c1fc7321cac2
    https://github.com/a/b/blob/1da177e4c3f41524e886b7f1b8a0c1fc7321cac2/README.md
    https://github.com/a/b/compare/1da177e4c3f4...e886b7f1b8a0
    https://news.example/article/3445c150-ebae-49de-b779-20beddea6243
    https://news.example/2024/05/some-long-title-of-it-3445c150-ebae-49de-b779-20beddea6243
    https://medium.example/@alice/how-we-built-it-3f9a1c2b4d5e
    https://news.example/story.php?id=3445c150-ebae-49de-b779-20beddea6243
    https://school.example/page?v=3f9a1c2b4d5e6f708192a3b4c5d6e7f8
    https://www.amazon.example/dp/B00X4WHP5E
    https://books.example/isbn/9783161484100
    https://books.example/isbn/316148410X
    https://www.youtube.com/watch?v=dQw4w9WgXcQ&list=PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf
    https://de.example/Donaudampfschifffahrtselektrizitaetenhauptbetriebswerkbauunterbeamtengesellschaft
    https://de.example/rindfleischetikettierungsueberwachungsaufgabenuebertragungsgesetz
    https://ru.example/%D0%A0%D0%BE%D1%81%D1%81%D0%B8%D1%8F/%D0%9C%D0%BE%D1%81%D0%BA%D0%B2%D0%B0
    https://zh.example/wiki/%E4%B8%AD%E5%9B%BD
    https://pl.example/szczebrzeszyn-chrzaszcz-brzmi-w-trzcinie
    https://cy.example/llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch
    https://hu.example/megszentsegtelenithetetlensegeskedeseitekert
    https://fi.example/lentokonesuihkuturbiinimoottoriapumekaanikkoaliupseerioppilas
    https://x.example/RFC9110#section-15.4.5
    https://doi.example/10.1016/j.cell.2020.02.058
    https://x.example/status/1234567890123456789
    https://x.example/S0140-6736(20)30183-5/fulltext
    https://x.example/pii/S0140673620301835
    https://x.example/PMC7092819/
    https://x.example/questions/11227809/why-is-processing-a-sorted-array-faster
    https://x.example/wiki/Special:Search?search=photosynthesis&go=Go
    https://x.example/search?q=how+do+i+reset+my+password
    https://x.example/reset-password
    https://x.example/help/password/change-your-password.html
    https://x.example/login?next=/courses/biology/lesson-3
    https://x.example/join/us
    https://x.example/share/economics-of-sharing
    https://x.example/invite/a-friend
    https://x.example/unsubscribe
    https://x.example/docs/latest/api/tokens.html
    https://x.example/index.php?option=com_content&view=article&id=123:the-title&catid=45&Itemid=67
    https://x.example/?p=12345
    https://x.example/node/12345/revisions/67890/view
    https://x.example/servlet/Satellite?c=Page&cid=1234567890123&pagename=Foo%2FBar
    https://x.example/Default.aspx?tabid=73&language=en-US
    https://x.example/images/IMG_20240512_113422.jpg
    https://x.example/files/2024-05-12_Report_v2.1_final.pdf
    https://x.example/d/1234567
    https://x.example/c/4a/3b/page.html
    https://x.example/maps/@48.137154,11.576124,15z
    https://cdn.example/npm/jquery@3.7.1/dist/jquery.min.js
    https://x.example/page#ref-CR12
    https://x.example/page#cite_note-Smith2004-12
    https://x.example/p/how-to-learn-latin
    https://x.example/r/AskHistorians/comments/1a2b3c4/why_did_rome_fall/
    https://x.example/gp/product/0131103628/ref=as_li_tl
    https://x.example/news/world-europe-56789012
    https://x.example/story/2024-05-12/H1N1-vaccine-covid19-sars-cov-2
    https://x.example/chem/C8H10N4O2
    https://x.example/protein/P0DTD1
    https://x.example/species/NC_045512.2
    https://x.example/lesson?lang=de_DE&unit=3b&page=12
    https://x.example/view?code=DE-BY
    https://x.example/view?key=title&sort=asc
    https://x.example/item?state=CA&city=San+Jose
    https://x.example/de/kurse/mathe-7b/aufgaben/2b-3c
    https://x.example/s/1/how-it-works
    https://x.example/file/libpfm4/readme.txt
    https://x.example/video/mp4/H264/1080p60
    https://web.archive.org/web/20060504220742/https://x.example/a?b=c
    https://x.example/sha256/e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
    """.splitlines()
    if line.strip()
)
"""Addresses that open nothing, with long numbers, hashes, foreign words and words that secrets stand behind."""


def capability_links(seed: int) -> list[str]:
    """One link of each kind, with other values for each seed."""
    generator = random.Random(seed)

    def drawn(place: re.Match[str]) -> str:
        if place[1] == "uuid":
            return str(uuid.UUID(int=generator.getrandbits(128), version=4))
        return "".join(generator.choices(_ALPHABETS[place[1]], k=int(place[2])))

    return [_PLACE.sub(drawn, template) for template in TEMPLATES]
