"""Hosts that visits come from, by channel, written down from general knowledge and not from the lists of the product.

``host=source`` names the source, too.
"""

WELL_KNOWN_REFERRERS = {
    "organic_search": """
        www.google.com=google www.google.de=google www.google.co.uk=google www.google.com.br=google
        www.google.co.jp=google google.fr=google www.bing.com=bing cn.bing.com=bing search.yahoo.com=yahoo
        uk.search.yahoo.com=yahoo search.yahoo.co.jp=yahoo r.search.yahoo.com=yahoo duckduckgo.com=duckduckgo
        html.duckduckgo.com=duckduckgo www.baidu.com=baidu m.baidu.com=baidu yandex.ru=yandex yandex.com=yandex
        yandex.com.tr=yandex yandex.kz=yandex ya.ru www.ecosia.org=ecosia www.qwant.com=qwant lite.qwant.com=qwant
        search.naver.com=naver m.search.naver.com=naver www.startpage.com=startpage search.brave.com
        www.ask.com=ask www.aol.com=aol search.aol.com=aol search.seznam.cz www.seznam.cz search.daum.net=daum
        www.sogou.com=sogou m.sogou.com=sogou www.so.com m.so.com m.sm.cn yz.m.sm.cn coccoc.com=coccoc
        swisscows.com=swisscows metager.org=metager metager.de=metager www.mojeek.com=mojeek kagi.com=kagi
        presearch.com=presearch search.lilo.org www.lilo.org searx.be search.marginalia.nu
        yep.com www.dogpile.com=dogpile www.info.com www.webcrawler.com=webcrawler www.excite.com=excite
        www.lycos.com=lycos search.lycos.com=lycos www.gigablast.com=gigablast www.entireweb.com
        nova.rambler.ru=rambler go.mail.ru www.search.com search.walla.co.il www.onet.pl szukaj.onet.pl szukaj.wp.pl
        search.orange.fr lemoteur.orange.fr www.voila.fr www.t-online.de suche.t-online.de suche.web.de suche.gmx.net
        search.gmx.com search.bt.com search.virginmedia.com search.comcast.net search.xfinity.com
        search.earthlink.net search.goo.ne.jp search.rakuten.co.jp websearch.rakuten.co.jp search.nifty.com
        www.virgilio.it ricerca.virgilio.it arianna.libero.it search.sapo.pt pesquisa.sapo.pt busca.uol.com.br
        search.terra.com.br zoznam.sk hladaj.zoznam.sk www.najdi.si neti.ee search.delfi.lt www.search.ch
        www.bluewin.ch search.abv.bg petalsearch.com gibiru.com searchencrypt.com oceanhero.today
        www.refseek.com www.wolframalpha.com www.exalead.com youdao.com www.youdao.com zum.com search.zum.com
        search.becovi.com fireball.com fireball.de www.fireball.com search.avast.com search.avira.com
        isearch.avg.com nl.search.yahoo.com search.tb.ask.com int.search.tb.ask.com www.mamma.com
        www.metacrawler.com www.alltheweb.com www.altavista.com www.hotbot.com search.disconnect.me
        karmasearch.org ekoru.org www.ekoru.org rapusia.org givero.com
        luxxle.com tusksearch.com 4get.ca stract.com
    """,
    "organic_social": """
        www.facebook.com=facebook m.facebook.com=facebook l.facebook.com=facebook lm.facebook.com=facebook
        fb.me=facebook www.instagram.com=instagram l.instagram.com=instagram www.threads.net l.threads.net
        www.threads.com twitter.com=twitter mobile.twitter.com=twitter t.co=twitter x.com=twitter
        www.linkedin.com=linkedin lnkd.in=linkedin www.tiktok.com=tiktok vm.tiktok.com=tiktok
        www.reddit.com=reddit old.reddit.com=reddit out.reddit.com=reddit www.pinterest.com=pinterest
        www.pinterest.de=pinterest pin.it www.snapchat.com=snapchat story.snapchat.com=snapchat
        www.quora.com=quora vk.com=vk m.vk.com=vk away.vk.com=vk ok.ru www.odnoklassniki.ru www.tumblr.com=tumblr
        t.umblr.com mastodon.social bsky.app go.bsky.app web.whatsapp.com=whatsapp wa.me=whatsapp
        api.whatsapp.com=whatsapp web.telegram.org=telegram t.me=telegram telegram.me discord.com
        cdn.discordapp.com www.weibo.com weibo.com m.weibo.cn www.douban.com www.zhihu.com www.xiaohongshu.com
        www.xing.com news.ycombinator.com hn.algolia.com www.producthunt.com www.indiehackers.com lobste.rs
        slashdot.org stackoverflow.com github.com dev.to hashnode.com medium.com substack.com www.meetup.com
        www.nextdoor.com nextdoor.co.uk www.yelp.com www.tripadvisor.com www.tripadvisor.de www.goodreads.com
        www.deviantart.com www.behance.net dribbble.com www.flickr.com flic.kr imgur.com 9gag.com www.messenger.com
        l.messenger.com line.me lin.ee www.wechat.com mp.weixin.qq.com weixin.qq.com story.kakao.com pf.kakao.com
        mixi.jp b.hatena.ne.jp ameblo.jp note.com www.plurk.com getpocket.com www.instapaper.com
        flipboard.com www.scoop.it disqus.com buffer.com hootsuite.com www.livejournal.com www.myspace.com
        foursquare.com www.last.fm soundcloud.com truthsocial.com gab.com gettr.com parler.com minds.com
        www.clubhouse.com bereal.com www.lemon8-app.com www.patreon.com linktr.ee bio.link beacons.ai
        www.strava.com letterboxd.com www.wattpad.com myanimelist.net www.viadeo.com www.taringa.net
        draugiem.lv nk.pl www.tuenti.com www.badoo.com www.tagged.com hi5.com www.renren.com qzone.qq.com
        user.qzone.qq.com tieba.baidu.com www.v2ex.com www.slideshare.net www.glassdoor.com www.trustpilot.com
        de.trustpilot.com lemmy.world kbin.social mastodon.online hachyderm.io fosstodon.org pixelfed.social
        www.skool.com www.kooapp.com sharechat.com vero.co www.caringbridge.org pikabu.ru dzen.ru habr.com
        ravelry.com www.couchsurfing.com
    """,
    "email": """
        mail.google.com gmail.com outlook.live.com outlook.office.com outlook.office365.com mail.yahoo.com
        us.mg.mail.yahoo.com mail.yahoo.co.jp mail.aol.com mail.proton.me mail.protonmail.com account.proton.me
        mail.yandex.ru mail.yandex.com e.mail.ru mail.zoho.com mail.zoho.eu app.fastmail.com www.fastmail.com
        mail.gmx.net navigator.gmx.net 3c.gmx.net navigator.web.de 3c.web.de deref-gmx.net deref-web.de
        deref-mail.com www.mail.com mail.naver.com mail.daum.net mail.163.com mail.126.com mail.qq.com
        email.t-online.de webmail.freenet.de mail.orange.fr webmail.free.fr webmail.sfr.fr webmail.laposte.net
        mail.libero.it mail.virgilio.it email.seznam.cz poczta.onet.pl poczta.wp.pl poczta.o2.pl poczta.interia.pl
        app.tuta.com mail.tutanota.com app.hey.com mail.superhuman.com mail.shortwave.com www.icloud.com
        webmail.comcast.net connect.xfinity.com webmail.cox.net webmail.earthlink.net email.ionos.com
        webmail.strato.de mail.one.com webmail.gandi.net mail.ovh.net mail.hostinger.com mail.rediff.com
        f5mail.rediff.com posteo.de mail.mailbox.org app.posteo.de webmail.telenet.be webmail.bigpond.com
        mail.rambler.ru email.bt.com btmail.bt.com mail.sky.com mail.virginmedia.com mail.telus.net
        webmail.shaw.ca webmail.spectrum.net currently.att.yahoo.com mailchi.mp mail.terra.com.br email.uol.com.br
    """,
    "ai_assistant": """
        chatgpt.com chat.openai.com openai.com perplexity.ai www.perplexity.ai gemini.google.com bard.google.com
        claude.ai copilot.microsoft.com copilot.com edgeservices.bing.com grok.com x.ai meta.ai www.meta.ai
        chat.deepseek.com deepseek.com chat.mistral.ai you.com poe.com pi.ai character.ai beta.character.ai
        phind.com www.phind.com notebooklm.google.com aistudio.google.com kimi.com kimi.moonshot.cn www.kimi.com
        doubao.com www.doubao.com yiyan.baidu.com tongyi.aliyun.com chat.qwen.ai qwen.ai yuanbao.tencent.com
        chatglm.cn chat.z.ai huggingface.co duck.ai andisearch.com komo.ai felo.ai www.genspark.ai liner.com
        consensus.app elicit.com lmarena.ai www.chatpdf.com chathub.gg writesonic.com app.jasper.ai monica.im
        iask.ai brave.ai alexa.amazon.com lechat.mistral.ai venice.ai t3.chat manus.im groq.com
        chat.groq.com coze.com www.coze.com exa.ai scira.ai morphic.sh merlin.foyer.work sider.ai
    """,
    "organic_shopping": """
        www.amazon.com=amazon www.amazon.de=amazon www.amazon.co.uk=amazon amzn.to a.co www.ebay.com=ebay
        www.ebay.de=ebay www.ebay.co.uk=ebay www.etsy.com=etsy www.walmart.com=walmart www.aliexpress.com=aliexpress
        de.aliexpress.com=aliexpress s.click.aliexpress.com=aliexpress www.alibaba.com www.taobao.com www.tmall.com
        item.jd.com www.pinduoduo.com shopping.google.com shop.app www.idealo.de=idealo www.idealo.co.uk=idealo
        www.billiger.de geizhals.de geizhals.at www.preisvergleich.de www.check24.de www.kelkoo.com www.kelkoo.fr
        www.pricerunner.com www.pricerunner.se www.prisjakt.nu pricespy.co.uk www.pricegrabber.com
        www.shopzilla.com www.bizrate.com www.nextag.com www.shopping.com shopping.yahoo.com shopping.yahoo.co.jp
        www.target.com www.bestbuy.com www.homedepot.com www.lowes.com www.costco.com www.wayfair.com
        www.overstock.com www.macys.com www.nordstrom.com www.kohls.com www.newegg.com www.wish.com www.temu.com
        www.shein.com us.shein.com www.zalando.de www.zalando.fr www.aboutyou.de www.asos.com www.otto.de
        www.kaufland.de www.bol.com www.coolblue.nl allegro.pl www.ceneo.pl www.emag.ro www.alza.cz www.heureka.cz
        heureka.sk www.cdiscount.com www.fnac.com www.darty.com www.rakuten.com fr.shopping.rakuten.com
        www.rakuten.co.jp item.rakuten.co.jp kakaku.com zozo.jp www.mercari.com jp.mercari.com
        www.mercadolibre.com.ar articulo.mercadolibre.com.mx produto.mercadolivre.com.br www.americanas.com.br
        www.magazineluiza.com.br shopee.sg shopee.com.br www.lazada.sg www.lazada.co.th www.tokopedia.com
        www.bukalapak.com www.flipkart.com www.myntra.com www.meesho.com www.snapdeal.com www.jumia.com.ng
        www.takealot.com www.noon.com www.trendyol.com www.hepsiburada.com www.n11.com www.ozon.ru
        www.wildberries.ru market.yandex.ru www.avito.ru www.coupang.com www.gmarket.co.kr www.11st.co.kr
        shopping.naver.com search.shopping.naver.com poshmark.com www.depop.com www.vinted.com www.vinted.fr
        www.vinted.de www.kleinanzeigen.de www.leboncoin.fr www.marktplaats.nl www.gumtree.com www.argos.co.uk
        www.onbuy.com www.fruugo.com www.qvc.com www.instacart.com www.slickdeals.net slickdeals.net
        www.mydealz.de www.hotukdeals.com www.dealabs.com www.honey.com www.joinhoney.com www.rakuten.de
    """,
    "video": """
        www.youtube.com=youtube m.youtube.com=youtube youtu.be=youtube vimeo.com=vimeo player.vimeo.com=vimeo
        www.twitch.tv=twitch m.twitch.tv=twitch www.dailymotion.com=dailymotion dai.ly fast.wistia.com=wistia
        www.bilibili.com www.youku.com www.iqiyi.com v.qq.com www.nicovideo.jp rutube.ru rumble.com odysee.com
        www.bitchute.com kick.com www.loom.com www.ted.com www.netflix.com www.hulu.com www.crunchyroll.com
        www.disneyplus.com www.metacafe.com share.vidyard.com
    """,
}
"""Channel -> hosts that a visit of it comes from."""
