"""Pages of many makes and languages, as systems write them; and pages that look like them.

Written from what systems are known to write, after the classes had been changed; the classes were
then tuned on them, so that their figures are no prediction.
"""

from collections.abc import Iterator
from random import Random
from typing import Final

from tests.quality.corpus import Sample
from tests.quality.texts import article, title

_URL: Final = "http://www.harbour-lab.org/research/2014/amber.html"
_NAV: Final = (
    *(
        "Home",
        "About",
        "Faculties",
        "Students",
        "Research",
        "Library",
        "News",
        "Events",
        "Contact",
    ),
    *(
        "Staff",
        "Alumni",
        "Jobs",
        "International",
        "Campus",
        "Media",
        "Imprint",
        "Log in",
        "Search",
    ),
)


def _nav(random: Random, number: int) -> str:
    names = [random.choice(_NAV) for _ in range(number)]
    return "".join(
        f"<li><a href='/{name}/{n}'>{name} {n}</a></li>" for n, name in enumerate(names)
    )


def _teasers(random: Random, language: str) -> str:
    """Return teasers of other articles, as error pages of newspapers have them."""
    return "".join(
        f"<div class=card><h3><a href='/a/{n}'>{title(random, language)}</a></h3>"
        f"<p><a href='/a/{n}'>{article(random, language, 1)[0]}</a></p></div>"
        for n in range(random.randint(3, 9))
    )


def _bare(random: Random, name: str, heading: str, text: str) -> str:
    del random
    return f"<html><head><title>{name}</title></head><body><h1>{heading}</h1><p>{text}</p></body></html>"


def _wordpress(random: Random, name: str, heading: str, text: str) -> str:
    return f"""<!DOCTYPE html><html><head><title>{name} &#8211; Amber Notes</title></head>
<body class="wp-singular theme-twenty"><div id=page class=site><header id=masthead><a href=/>Amber Notes</a>
<nav id=site-navigation class=main-navigation><ul>{_nav(random, 6)}</ul></nav></header>
<div id=content class=site-content><main id=main><section><header class=page-header><h1 class=page-title>{heading}</h1></header>
<div class=page-content><p>{text}</p><form role=search class=search-form><label>Search for:<input type=search name=s></label></form></div></section></main>
<aside id=secondary class=widget-area><h2>Recent Posts</h2><ul>{_nav(random, 5)}</ul></aside></div>
<footer>Proudly powered by WordPress</footer></div></body></html>"""


def _newspaper(random: Random, name: str, heading: str, text: str) -> str:
    return f"""<!doctype html><html><head><title>{name} | The Harbour Post</title></head><body>
<header><div class=logo>The Harbour Post</div><nav><ul>{_nav(random, 14)}</ul></nav></header>
<main><div class=message><h1>{heading}</h1><p>{text}</p></div><section class=most-read><h2>Most read</h2>{_teasers(random, "en")}</section></main>
<footer><ul>{_nav(random, 12)}</ul><p>© The Harbour Post. All rights reserved.</p></footer></body></html>"""


def _university(random: Random, name: str, heading: str, text: str) -> str:
    return f"""<html><head><title>University of the Coast - {name}</title></head><body><div id=header><h2>University of the Coast</h2></div>
<table><tr><td class=leftmenu><ul>{_nav(random, 40)}</ul></td><td id=content><h1>{heading}</h1><div>{text}</div></td></tr></table>
<div id=footer>{_nav(random, 20)}</div></body></html>"""


def _divs(random: Random, name: str, heading: str, text: str) -> str:
    return f"""<html><head><title>{name}</title></head><body><div class=wrap><div class=top>{_nav(random, 5)}</div>
<div class=big>{heading}</div><div class=txt>{text}</div><a class=btn href=/>OK</a></div></body></html>"""


_FRAMES: Final = (_bare, _wordpress, _newspaper, _university, _divs)

# Title, heading, text.
_ERRORS: Final = (
    (
        "Page not found",
        "Oops! That page can&rsquo;t be found.",
        "It looks like nothing was found at this location. Maybe try one of the links below or a search?",
    ),
    (
        "404 Not Found",
        "Not Found",
        "The requested URL /research/2014/amber.html was not found on this server.",
    ),
    (
        "404 - File or directory not found.",
        "Server Error",
        "404 - File or directory not found. The resource you are looking for might have been removed, had its name changed, or is temporarily unavailable.",
    ),
    (
        "HTTP Status 404 – Not Found",
        "HTTP Status 404 – Not Found",
        "Type Status Report. Message /amber. Description The origin server did not find a current representation for the target resource or is not willing to disclose that one exists. Apache Tomcat/9.0",
    ),
    ("404 Not Found", "404 Not Found", "nginx/1.18.0"),
    (
        "Page not found · GitHub Pages",
        "404",
        "File not found. The site configured at this address does not contain the requested file. If this is your site, make sure that the filename case matches the URL.",
    ),
    ("Page not found", "Page not found", "The requested page could not be found."),
    (
        "Error: 404 Component not found",
        "404",
        "You may not be able to visit this page because of: an out-of-date bookmark/favourite; a search engine that has an out-of-date listing for this site; a mistyped address.",
    ),
    (
        "404 Page Not Found",
        "Page not found",
        "The page you were looking for does not exist. Continue shopping.",
    ),
    ("Error", "Sorry, the page you were looking for in this blog does not exist.", ""),
    (
        "Out of nothing, something.",
        "404",
        "Out of nothing, something. You can find (just about) anything on Medium, apparently even a page that doesn't exist.",
    ),
    (
        "Oops",
        "Uh-oh. We couldn't find the page you were looking for.",
        "Let us help you get back on course: try the menu or our home page.",
    ),
    (
        "Error | Harbour",
        "We're sorry, something went wrong",
        "The page you're trying to reach has been moved or no longer exists.",
    ),
    (
        "Content unavailable",
        "This content isn't available at the moment",
        "The link you followed may have expired, or the page may only be visible to an audience you aren't in.",
    ),
    ("Harbour Lab", "Lost?", "We can't seem to find the page you're looking for."),
    (
        "Sorry!",
        "Sorry!",
        "This article has been removed or is no longer available on our website.",
    ),
    (
        "The Harbour Post",
        "This story is no longer available",
        "News agency stories are removed after thirty days.",
    ),
    (
        "Seite nicht gefunden",
        "Seite nicht gefunden",
        "Die von Ihnen aufgerufene Seite existiert leider nicht (mehr).",
    ),
    (
        "Fehler 404",
        "Ups, da ist etwas schiefgelaufen",
        "Unter der angegebenen Adresse konnte kein Dokument gefunden werden.",
    ),
    (
        "404 | Hafen",
        "Diese Seite ist umgezogen oder gelöscht",
        "Bitte nutzen Sie die Suche oder gehen Sie zur Startseite.",
    ),
    (
        "Erreur 404",
        "Oups !",
        "La page à laquelle vous tentez d'accéder n'est plus disponible ou a changé d'adresse.",
    ),
    (
        "Page non trouvée",
        "Cette page n'existe plus",
        "Nous vous invitons à revenir à l'accueil du site.",
    ),
    (
        "Página no encontrada",
        "¡Vaya! No encontramos esa página",
        "Puede que la dirección esté mal escrita o que el contenido ya no esté disponible.",
    ),
    (
        "Error 404",
        "No se encuentra la página solicitada",
        "Es posible que haya sido eliminada.",
    ),
    (
        "Página não encontrada",
        "Ops! Página não encontrada",
        "A página que você está procurando pode ter sido removida.",
    ),
    (
        "Pagina non trovata",
        "Ci dispiace",
        "La pagina che stai cercando non esiste o è stata spostata.",
    ),
    (
        "Pagina niet gevonden",
        "Oeps",
        "Deze pagina bestaat niet (meer). Probeer het via de zoekfunctie.",
    ),
    ("Sidan hittades inte", "Hoppsan!", "Sidan du letar efter finns inte eller har flyttats."),
    ("Siden finnes ikke", "404", "Beklager, vi finner ikke siden du leter etter."),
    ("Siden blev ikke fundet", "Ups!", "Siden er flyttet eller findes ikke længere."),
    ("Sivua ei löytynyt", "Hups!", "Etsimääsi sivua ei ole olemassa tai se on poistettu."),
    (
        "Nie znaleziono",
        "Błąd 404",
        "Podana strona nie istnieje lub została przeniesiona pod inny adres.",
    ),
    ("Stránka nenalezena", "Chyba 404", "Je nám líto, ale stránku se nepodařilo najít."),
    ("Az oldal nem található", "404", "A keresett oldal nem létezik vagy áthelyezték."),
    (
        "Pagina nu a fost găsită",
        "Eroare 404",
        "Ne pare rău, pagina pe care o căutați nu există.",
    ),
    (
        "Sayfa bulunamadı",
        "Üzgünüz",
        "Aradığınız sayfa kaldırılmış veya adresi değiştirilmiş olabilir.",
    ),
    (
        "Страница не найдена",
        "Ошибка 404",
        "К сожалению, запрашиваемая вами страница не существует или была удалена.",
    ),
    ("404", "Ой! Такой страницы нет", "Возможно, она была перемещена. Перейдите на главную."),
    ("Сторінку не знайдено", "404", "На жаль, такої сторінки не існує."),
    ("Η σελίδα δεν βρέθηκε", "404", "Η σελίδα που αναζητάτε δεν υπάρχει."),
    (
        "ページが見つかりません",
        "404 Not Found",
        "お探しのページは移動または削除された可能性があります。",
    ),
    (
        "お探しのページは見つかりませんでした",
        "ページが見つかりません",
        "URLが正しく入力されているかご確認ください。",
    ),
    ("页面不存在", "404", "抱歉，您访问的页面不存在或已被删除。"),
    ("找不到頁面", "很抱歉", "您要找的頁面可能已經移除或不存在。"),
    (
        "페이지를 찾을 수 없습니다",
        "오류",
        "요청하신 페이지가 삭제되었거나 주소가 변경되었습니다.",
    ),
    ("الصفحة غير موجودة", "خطأ 404", "عذراً، الصفحة التي تبحث عنها غير موجودة أو تم حذفها."),
    ("הדף לא נמצא", "404", "הדף שחיפשת אינו קיים או הועבר."),
    ("Không tìm thấy trang", "404", "Trang bạn yêu cầu không tồn tại."),
    ("Halaman tidak ditemukan", "404", "Halaman yang Anda cari tidak tersedia."),
)
_SALE: Final = "<html><head><title>{t}</title>{h}</head><body>{b}</body></html>"
# Title, head, body.
_PARKED: Final = (
    (
        "harbour-lab.org - harbour lab Resources and Information.",
        "",
        "<h1>harbour-lab.org</h1><p>harbour-lab.org is your first and best source for all of the information you’re looking for. From general topics to more of what you would expect to find here, harbour-lab.org has it all. We hope you find what you are searching for!</p><p>This webpage was generated by the domain owner using Sedo Domain Parking.</p>",
    ),
    (
        "harbour-lab.org",
        "<script src='https://parking.bodiscdn.com/parking.js'></script>",
        "<div id=target style='opacity:0'></div>",
    ),
    (
        "harbour-lab.org",
        "<script src='http://c.parkingcrew.net/scripts/sale_form.js'></script>",
        "<p>Related Searches</p><ul><li><a href=?k=1>Marine Research</a><li><a href=?k=2>Boats</a></ul><p>Privacy Policy</p>",
    ),
    (
        "HarbourLab.org is for sale | HugeDomains",
        "<link rel=canonical href='https://www.hugedomains.com/domain_profile.cfm?d=harbour-lab.org'>",
        "<h1>HarbourLab.org</h1><p>This domain is for sale: $2,895. Buy now, or $80.42 a month for 36 months. 30-day money back guarantee. Take immediate ownership.</p>",
    ),
    (
        "The domain name harbour-lab.org is for sale | Dan.com",
        "",
        "<h1>harbour-lab.org</h1><p>The domain name harbour-lab.org is for sale! Buyer Protection program. Fast and easy transfers. Hassle free payments.</p><a href='https://dan.com/buy-domain/harbour-lab.org'>Get this domain</a>",
    ),
    (
        "harbour-lab.org",
        "",
        "<h1>harbour-lab.org</h1><p>This domain is registered, but may still be available.</p><a href='https://www.afternic.com/forsale/harbour-lab.org'>Get this domain</a>",
    ),
    (
        "Registrant WHOIS contact information verification",
        "",
        "<p>harbour-lab.org was recently registered at Namecheap.</p><p>Please check back later!</p>",
    ),
    (
        "harbour-lab.org",
        "",
        "<h1>This Web page is parked for FREE, courtesy of GoDaddy.com</h1><p>Is this your domain? Let's turn it into a website!</p>",
    ),
    (
        "Under Construction",
        "",
        "<h1>harbour-lab.org</h1><p>This domain has just been registered. Are you the owner? Log in to manage your domain.</p>",
    ),
    (
        "Welcome to nginx!",
        "",
        "<h1>Welcome to nginx!</h1><p>If you see this page, the nginx web server is successfully installed and working. Further configuration is required.</p><p>For online documentation and support please refer to nginx.org.</p>",
    ),
    (
        "Apache2 Ubuntu Default Page: It works",
        "",
        "<div>Apache2 Ubuntu Default Page</div><div>It works!</div><p>This is the default welcome page used to test the correct operation of the Apache2 server after installation on Ubuntu systems.</p><p>If you are a normal user of this web site and don't know what this page is about, this probably means that the site is currently unavailable due to maintenance.</p>",
    ),
    (
        "IIS Windows Server",
        "",
        "<a href='http://go.microsoft.com/fwlink/?linkid=66138'><img src=iisstart.png alt=IIS></a>",
    ),
    (
        "Web Server's Default Page",
        "",
        "<h1>Web Server's Default Page</h1><p>This page is generated by Plesk, the leading hosting automation software. You see this page because there is no Web site at this address.</p>",
    ),
    (
        "Account Suspended",
        "",
        "<h1>Account Suspended</h1><p>This Account has been suspended. Contact your hosting provider for more information.</p>",
    ),
    (
        "harbour-lab.org",
        "",
        "<p>Hier entsteht eine neue Internetpräsenz.</p><p>Diese Domain wurde bei STRATO registriert.</p>",
    ),
    (
        "IONOS: Diese Domain ist bereits registriert",
        "",
        "<h1>Diese Domain ist bereits registriert</h1><p>Sie ist bei IONOS gehostet. Inhalte wurden noch nicht hinterlegt.</p>",
    ),
    (
        "harbour-lab.org steht zum Verkauf",
        "",
        "<h1>harbour-lab.org</h1><p>Der Inhaber bietet diese Domain zum Kauf an. Jetzt Angebot abgeben.</p><a href='https://sedo.com/search/details/?domain=harbour-lab.org'>Zum Angebot</a>",
    ),
    (
        "Félicitations ! Votre domaine a bien été créé chez OVH !",
        "",
        "<h1>Félicitations !</h1><p>Votre domaine harbour-lab.org a bien été créé chez OVH. Ce site est en construction.</p>",
    ),
    (
        "Ce nom de domaine est à vendre",
        "",
        "<h1>harbour-lab.org</h1><p>Le propriétaire met ce nom de domaine en vente. Faites une offre.</p>",
    ),
    (
        "harbour-lab.org",
        "",
        "<p>Este dominio está aparcado. ¿Es suyo? Acceda a su panel de control.</p>",
    ),
    (
        "Domínio à venda",
        "",
        "<h1>harbour-lab.org</h1><p>Este domínio está à venda. Faça uma oferta.</p>",
    ),
    (
        "Dominio registrato",
        "",
        "<h1>harbour-lab.org</h1><p>Il dominio è stato registrato da un cliente di Aruba. Pagina di cortesia.</p>",
    ),
    (
        "Deze domeinnaam is geregistreerd",
        "",
        "<p>Deze domeinnaam is gereserveerd voor een klant van TransIP.</p>",
    ),
    (
        "harbour-lab.org",
        "",
        "<p>Domänen är parkerad hos Loopia. Domännamnet harbour-lab.org är registrerat av en kund.</p>",
    ),
    (
        "Domena na sprzedaż",
        "",
        "<h1>harbour-lab.org</h1><p>Ta domena jest wystawiona na sprzedaż. Złóż ofertę.</p>",
    ),
    (
        "Doména harbour-lab.org",
        "",
        "<p>Tato doména je zaregistrována a zaparkována u společnosti Forpsi.</p>",
    ),
    (
        "Домен продаётся",
        "",
        "<h1>harbour-lab.org</h1><p>Этот домен продаётся. Купить домен можно у REG.RU.</p>",
    ),
    ("Bu alan adı satılık", "", "<p>harbour-lab.org alan adı satılıktır. Teklif verin.</p>"),
    (
        "このドメインはお名前.comで取得されています",
        "",
        "<p>このドメインはお名前.comで取得されています。</p>",
    ),
    ("域名出售", "", "<h1>harbour-lab.org</h1><p>该域名正在出售，如有兴趣请联系。</p>"),
    ("도메인 판매", "", "<p>이 도메인은 판매 중입니다. 구매 문의를 환영합니다.</p>"),
    ("النطاق للبيع", "", "<h1>harbour-lab.org</h1><p>هذا النطاق معروض للبيع.</p>"),
    ("Coming Soon", "", "<h1>Coming Soon</h1><p>Our website is under construction.</p>"),
    (
        "harbour-lab.org",
        "",
        "<h1>Future home of something quite cool.</h1><p>If you're the site owner, log in to launch this site. If you are a visitor, check back soon.</p>",
    ),
    (
        "Website Expired",
        "",
        "<h1>Website Expired</h1><p>This account has expired. If you are the site owner, click below to login.</p>",
    ),
    (
        "ConnectYourDomain",
        "",
        "<h1>Looks Like This Domain Isn't Connected To A Website Yet!</h1><p>Is this your domain? Connect it to your Wix website in just a few easy steps.</p>",
    ),
)
_CONSENT: Final = (
    (
        "Before you continue to Google",
        "Before you continue to Google",
        "We use cookies and data to deliver and maintain services. If you choose to “Accept all”, we will also use cookies and data to personalize ads. <button>Reject all</button><button>Accept all</button> More options",
    ),
    (
        "Yahoo is part of the Yahoo family of brands",
        "Yahoo is part of the Yahoo family of brands",
        "When you use our sites and apps, we use cookies. If you click 'Accept all', we and our partners, including 238 who are part of the IAB framework, will also store and/or access information on a device. <button>Accept all</button><button>Reject all</button> Privacy dashboard",
    ),
    (
        "Weiter mit Werbung",
        "Mit Werbung weiterlesen",
        "Besuchen Sie uns wie gewohnt mit Werbung und Tracking. Details finden Sie in der Datenschutzerklärung. Ihre Zustimmung können Sie jederzeit widerrufen. <button>Akzeptieren und weiter</button> oder Pur-Abo ohne Werbetracking",
    ),
    (
        "Le respect de votre vie privée",
        "Votre vie privée est importante",
        "Nous et nos partenaires stockons des cookies sur votre appareil. Vous pouvez accepter ou refuser. <button>Tout accepter</button><button>Continuer sans accepter</button>",
    ),
    (
        "Privacidad",
        "Tu privacidad nos importa",
        "Nosotros y nuestros 841 socios almacenamos o accedemos a datos personales en tu dispositivo. <button>Aceptar y continuar</button> <button>Rechazar y suscribirse</button>",
    ),
    (
        "Privacy",
        "La tua privacy è importante",
        "Noi e i nostri fornitori archiviamo informazioni su un dispositivo, quali cookie, e trattiamo dati personali. <button>Accetta e chiudi</button><button>Continua senza accettare</button>",
    ),
    (
        "Cookies",
        "Cookies en privacy",
        "Wij en onze partners gebruiken cookies. Klik op akkoord om toestemming te geven, of pas je voorkeuren aan. <button>Akkoord</button><button>Instellingen</button>",
    ),
    (
        "Zgoda",
        "Szanujemy Twoją prywatność",
        "My i nasi partnerzy przechowujemy pliki cookies i przetwarzamy dane osobowe. <button>Przejdź do serwisu</button><button>Ustawienia zaawansowane</button> Akceptuję",
    ),
    (
        "Souhlas",
        "Vaše soukromí je důležité",
        "My a naši partneři používáme soubory cookies a zpracováváme osobní údaje. <button>Souhlasím</button><button>Nastavení</button><button>Odmítnout vše</button>",
    ),
    (
        "Cookie",
        "Çerez tercihleriniz",
        "Biz ve iş ortaklarımız çerezler kullanıyoruz ve kişisel verilerinizi işliyoruz. <button>Tümünü kabul et</button><button>Reddet</button>",
    ),
)
_LOGIN: Final = (
    (
        "Log in or sign up to view",
        "You must log in to continue.",
        "<form>Email address or phone number <input name=email><input type=password name=pass><button>Log in</button></form> Forgotten account? Sign up",
    ),
    (
        "Login • Instagram",
        "",
        "<form><input name=username><input type=password><button>Log in</button></form> Forgot password? Don't have an account? Sign up",
    ),
    (
        "Sign Up | LinkedIn",
        "Join LinkedIn",
        "<form>Email <input name=e> Password (6+ characters) <input type=password><button>Agree &amp; Join</button></form> Already on LinkedIn? Sign in",
    ),
    (
        "Login",
        "Login",
        "<p>The board requires you to be registered and logged in to view this forum.</p><form>Username: <input> Password: <input type=password> <button>Login</button></form> I forgot my password",
    ),
    (
        "Forums",
        "vBulletin Message",
        "<p>You are not logged in or you do not have permission to access this page. This could be due to one of several reasons: You are not logged in. Fill in the form and try again.</p><form>User Name: <input> Password: <input type=password></form>",
    ),
    (
        "Web Login Service",
        "Login to Library",
        "<form>NetID <input name=j_username> Password <input type=password name=j_password><button>Login</button></form> Forgot your password? Need help?",
    ),
    (
        "CAS – Central Authentication Service",
        "Enter your NetID and Password",
        "<form><input name=username><input type=password><button>LOGIN</button></form><p>For security reasons, please log out and exit your web browser when you are done.</p>",
    ),
    (
        "EZproxy",
        "Off-campus access",
        "<form>Library barcode <input name=user> <input type=password name=pass></form><p>This resource is restricted to current staff and students.</p>",
    ),
    (
        "Anmelden",
        "Bitte melden Sie sich an",
        "<form>Benutzername <input> Passwort <input type=password></form> Passwort vergessen?",
    ),
    (
        "Connexion",
        "Vous devez vous identifier",
        "<form>Identifiant <input> Mot de passe <input type=password></form> Mot de passe oublié ?",
    ),
    (
        "Iniciar sesión",
        "Debes iniciar sesión para ver este contenido",
        "<form>Usuario <input> Contraseña <input type=password></form>",
    ),
    (
        "Accedi",
        "Area riservata",
        "<form>Nome utente <input> Password <input type=password></form> Password dimenticata?",
    ),
    (
        "Zaloguj się",
        "Zaloguj się",
        "<form>Login <input> Hasło <input type=password></form> Nie pamiętasz hasła?",
    ),
    (
        "Вход",
        "Для просмотра необходимо войти",
        "<form>Логин <input> Пароль <input type=password></form> Забыли пароль?",
    ),
    (
        "ログイン",
        "ログインが必要です",
        "<form>メールアドレス <input> パスワード <input type=password></form>",
    ),
    (
        "请登录",
        "您需要登录后才可以继续浏览",
        "<form>用户名 <input> 密码 <input type=password></form>",
    ),
    (
        "Members",
        "Members only",
        "<p>This content is for members only. Please log in to read it.</p><a href=/login>Log in</a>",
    ),
)
_USUAL: Final = (
    (
        "How to fix 404 errors",
        "How to fix a 404 error on your website",
        "A 404 error means that the page could not be found. Check your links with a crawler and redirect old addresses with a 301. Then ask the search engine to crawl again.",
    ),
    (
        "What is domain parking?",
        "What domain parking is, and how it earns money",
        "A parked domain shows advertisements until the owner builds a site. Companies such as Sedo share the revenue with the owner of the domain.",
    ),
    (
        "Cookie policy",
        "Cookie policy",
        "We use cookies to remember your settings. Our partners may set cookies for statistics. You can accept or reject them in your browser at any time. This policy was last changed in May.",
    ),
    (
        "Lost and found",
        "Lost and found",
        "Items that were found in the library are kept at the desk for four weeks. Keys, phones and umbrellas can be collected on weekdays from nine to five.",
    ),
    (
        "Not found: the missing letters of Anna",
        "The letters that were not found",
        "For ninety years nobody could find the letters. Last week the archive of the parish opened a box that was believed to be empty.",
    ),
    (
        "Sold out",
        "Amber necklace, hand made",
        "Sold out. This necklace of Baltic amber was made in Ribe in 1931. Length 42 cm, weight 28 g. Write to us if you would like to be informed of similar pieces.",
    ),
    (
        "Search results for 'amber'",
        "Search results",
        "No results were found for your search. Try other words, or browse the catalogue by author.",
    ),
    (
        "Opening hours",
        "Opening hours",
        "Monday to Friday, nine to five. Closed on public holidays.",
    ),
    ("Contact", "Contact", "Harbour Lab, Quay 4, 6700 Esbjerg. Telephone 75 12 00 00."),
    (
        "Museum shop",
        "The shop is closed in winter",
        "Orders will be sent from the first of March. We are sorry for the delay.",
    ),
    (
        "Road closed",
        "Bridge under construction",
        "The bridge at the harbour is under construction until May. Buses stop at the church.",
    ),
    (
        "For sale",
        "Boat for sale",
        "Wooden boat of 1962 for sale, six metres, engine checked last year. Make an offer. The boat is parked at the quay in Ribe.",
    ),
    (
        "Domain name system",
        "Domains of the university",
        "Departments can register a domain below the name of the university. Write to the help desk with the name and the purpose. A domain costs nothing and expires after five years unless it is renewed.",
    ),
    (
        "Passwords",
        "How to choose a password",
        "Choose a long password, and another one for each account. If you forgot your password, log in with the code that is sent to you. Never tell anybody your password.",
    ),
    (
        "Club house",
        "News of the club",
        "The members of the club met on Sunday. You must be logged in to post a comment.",
    ),
    (
        "Journal",
        "Amber in the bronze age",
        "Abstract. We report amber from nine graves of the early bronze age. Its sources are local. The trade with the south began later than was believed, as isotopes of the metals show. Sign in to save this article to your library.",
    ),
    (
        "Grab nicht gefunden",
        "Das Grab wurde nicht gefunden",
        "Drei Wochen lang suchten die Forscher am Ufer. Das Grab des Kapitäns wurde nicht gefunden, wohl aber sein Schiff. Es liegt in vier Metern Tiefe vor der Mole.",
    ),
    (
        "Introuvable",
        "Le tableau reste introuvable",
        "Volé en 1931, le tableau du port reste introuvable. La police a interrogé le dernier propriétaire, sans résultat, et le musée offre une récompense.",
    ),
    (
        "Seminar",
        "Seminar: The web of 1999",
        "We read home pages of the nineties: guest books, counters, and signs that say under construction. Thursdays at ten, room 4. Please register by e-mail.",
    ),
    (
        "404 Festival",
        "404 Festival of electronic art",
        "The 404 Festival returns to Rosario in November with forty artists. Tickets at the door. The programme of the festival is printed in two languages.",
    ),
    (
        "Error analysis",
        "Error analysis in chemistry",
        "Errors are random or systematic. The mean of many measurements has a smaller random error than one measurement. Give the error with two digits at most.",
    ),
    (
        "Page 404",
        "Annals of the parish, page 404",
        "The winter of 1740 was hard. The mill could not be used until April, and two ships were lost at the bar.",
    ),
    (
        "Consent in research",
        "Consent in medical research",
        "Participants sign a form that states which data are stored. They may withdraw their consent at any time. Partners of the study receive no personal data.",
    ),
    (
        "Login help",
        "Help with the library account",
        "To renew a book, log in with the number of your card. If that does not work, ask at the desk. The library is open until eight on Thursdays and the staff will help you.",
    ),
    (
        "About us",
        "About Harbour Hosting",
        "We have been hosting websites since 1998 from Esbjerg. Forty people look after two thousand servers. Your domain, your e-mail and your shop are safe with us, and the telephone is answered by people.",
    ),
    (
        "Exposition",
        "Prochainement au musée",
        "Prochainement : les bateaux de bois. L'exposition ouvre le 3 mai et montre quarante modèles. Entrée libre le dimanche.",
    ),
    (
        "Próximamente",
        "Próximamente en el cine del puerto",
        "Tres películas mudas con música en directo, los viernes de mayo a las nueve. Entradas en la taquilla.",
    ),
)
_BANNER: Final = (
    '<div id="onetrust-banner-sdk" role=dialog><h2>We value your privacy</h2><p>We and our partners store cookies on your device to personalise content and ads.'
    "</p><button>Accept All</button><button>Reject All</button><button>Cookie Settings</button></div>"
)
_SHELLS: Final = (
    "<!doctype html><html><head><title>Harbour</title><script src=/static/js/main.js></script></head><body><noscript>You need to enable JavaScript to run this app.</noscript><div id=root></div></body></html>",
    "<html><head><title></title></head><body></body></html>",
    "<html><head><title>Harbour</title></head><body><app-root>Loading...</app-root></body></html>",
)


def makes(rounds: int, seed: int = 1) -> Iterator[Sample]:
    """Yield *rounds* of such pages: each text once in a round, in a random frame."""
    random = Random(f"makes {seed}")
    for _ in range(rounds):
        yield from _round(random)


def _round(random: Random) -> Iterator[Sample]:  # noqa: C901 -- one loop for each kind
    for name, heading, text in _ERRORS:
        made = random.choice(_FRAMES)(random, name, heading, text)
        yield _sample(made, "soft-404", name + " / " + heading)
    for name, head, body in _PARKED:
        yield _sample(_SALE.format(t=name, h=head, b=body), "parked", name + " " + body[:30])
    walls = (("consent-wall", _CONSENT), ("login-wall", _LOGIN))
    for label, messages in walls:
        for name, heading, text in messages:
            made = random.choice((_bare, _divs, _wordpress))(random, name, heading, text)
            yield _sample(made, label, name + " / " + heading)
    for name, heading, text in _USUAL:
        made = random.choice(_FRAMES)(random, name, heading, text)
        if random.random() < 0.5:
            made = made.replace("</body>", _BANNER + "</body>")
        yield _sample(made, "", name + " / " + heading)
    for shell in _SHELLS:
        yield _sample(shell, "nearly-empty", shell[:60])
    for language in ("en", "de", "fr", "es", "it", "nl"):
        for length in (2, 4, 12):
            text = " ".join(article(random, language, length))
            made = random.choice(_FRAMES)(
                random, title(random, language), title(random, language), text
            )
            yield _sample(made, "", f"article of {length}")


def _sample(html: str, label: str, kind: str) -> Sample:
    return Sample(html.encode(), label, f"{label} {kind}"[:110], _URL)
