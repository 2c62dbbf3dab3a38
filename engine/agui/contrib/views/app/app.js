
// @ts-check
/** A card as an app of MCP (ext-apps, 2026-01-26): what the host says is drawn, buttons call tools. */
(() => {
  const host = window.parent;
  const root = document.documentElement;
  const main = /** @type {HTMLElement} */ (document.querySelector("main"));
  const said = /** @type {HTMLElement} */ (document.querySelector("[role=status]"));
  /** @type {Map<unknown, (answer: any) => void>} */
  const unanswered = new Map();
  // From here on no other script runs, whatever policy the host has.
  const POLICY =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'";
  const ACTIVE = "base, embed, frame, iframe, link, meta, object, script";
  let count = 0;
  let base = "";

  const meta = document.createElement("meta");
  meta.httpEquiv = "Content-Security-Policy";
  meta.content = POLICY;
  document.head.append(meta);

  /** @param {object} message */
  const post = (message) => host.postMessage({ jsonrpc: "2.0", ...message }, "*");

  /** @param {string} method @param {object} params @returns {Promise<any>} */
  const request = (method, params) =>
    new Promise((resolve) => {
      unanswered.set((count += 1), resolve);
      post({ id: count, method, params });
    });

  /** @param {any} context */
  const adapt = ({ theme, styles, locale }) => {
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    if (typeof locale === "string" && !main.lang) root.lang = locale;
    for (const [name, value] of Object.entries(styles?.variables ?? {})) {
      if (name.startsWith("--")) root.style.setProperty(name, String(value));
    }
  };

  /**
   * The server refuses these elements already. A refresh would take the frame elsewhere.
   * @param {string} html
   */
  const inert = (html) => {
    const template = document.createElement("template");
    template.innerHTML = html;
    for (const element of template.content.querySelectorAll(ACTIVE)) element.remove();
    return template.content;
  };

  /** @param {any} result of a tool */
  const show = ({ content, _meta }) => {
    const view = _meta?.["agui/view"];
    if (typeof view?.html === "string") {
      base = String(view.base);
      main.lang = String(view.lang);
      main.dir = view.dir === "rtl" ? "rtl" : "ltr";
      main.replaceChildren(inert(view.html));
      said.textContent = "";
      return;
    }
    const texts = (Array.isArray(content) ? content : []).filter(({ type }) => type === "text");
    said.textContent = texts.map(({ text }) => text).join("\n");
  };

  /** @type {Record<string, (params: any) => void>} */
  const told = {
    "ui/notifications/tool-result": show,
    "ui/notifications/host-context-changed": adapt,
  };

  addEventListener("message", ({ source, data }) => {
    if (source !== host || source === window || data?.jsonrpc !== "2.0") return;
    const { id, method, params } = data;
    if (method === undefined) {
      unanswered.get(id)?.(data);
      unanswered.delete(id);
    } else if (id === undefined) {
      if (Object.hasOwn(told, method)) told[method](params ?? {});
    } else if (method === "ui/resource-teardown" || method === "ping") {
      post({ id, result: {} });
    } else {
      post({ id, error: { code: -32601, message: "Unknown method." } });
    }
  });

  /** @param {HTMLButtonElement} button */
  const press = async (button) => {
    const { dataset } = button;
    const params = { name: dataset.tool, arguments: JSON.parse(dataset.arguments || "{}") };
    button.disabled = true;
    said.textContent = "";
    const answer = await request("tools/call", params);
    button.disabled = false;
    if (answer.error) said.textContent = String(answer.error.message);
    else show(answer.result ?? {});
    if (button.isConnected && document.hasFocus()) button.focus();
  };

  main.addEventListener("click", (event) => {
    const { target } = event;
    if (!event.isTrusted || !(target instanceof Element)) return;
    const button = target.closest("button");
    if (button?.dataset.tool) press(button);
    const link = target.closest("a[href]");
    if (!link) return;
    // A frame that leaves this document is closed by the chat.
    event.preventDefault();
    const href = link.getAttribute("href") ?? "";
    const isAddress = URL.canParse(href, base || undefined);
    if (isAddress) request("ui/open-link", { url: new URL(href, base || undefined).href });
  });

  const measure = () => {
    const { height } = root.getBoundingClientRect();
    post({ method: "ui/notifications/size-changed", params: { height: Math.ceil(height) } });
  };

  const begin = async () => {
    const { result } = await request("ui/initialize", {
      protocolVersion: "2026-01-26",
      appInfo: { name: "agui-view", version: "1" },
      appCapabilities: { availableDisplayModes: ["inline"] },
    });
    if (!result) return;
    adapt(result.hostContext ?? {});
    post({ method: "ui/notifications/initialized", params: {} });
    new ResizeObserver(measure).observe(root);
  };
  begin();
})();
