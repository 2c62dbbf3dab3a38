// What Markdown is read as, in the HTML that public suites are written in.
globalThis.document = { baseURI: "https://page.example/" };
export const { loadHtml, loadNames, loadShapes, read } = await import("./agui/markdown/nodes.js");
await Promise.all([loadHtml(), loadNames(), loadShapes()]);

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** Our description of elements as HTML. */
export function htmlOf(node) {
  if (typeof node === "string") return escaped(node);
  const [tag, attributes, children] = node;
  if (attributes.class === "code") return `<pre>${htmlOf(children[1][2][0])}</pre>`;
  const inner = children.map(htmlOf).join("");
  if (tag === "div") return inner;
  if (tag === "br") return "\n";
  if (tag === "hr") return "<hr />";
  const shown = Object.entries(attributes).filter(([name]) => ["href", "title", "start", "align"].includes(name) || (tag === "code" && name === "class"));
  return `<${tag}${shown.map(([name, value]) => ` ${name}="${escaped(value)}"`).join("")}>${inner}</${tag}>`;
}

/** HTML as it can be compared: every line break is kept, and an image is a link that loads nothing. */
export function normal(html) {
  return html
    .replace(/<br \/>\n?/g, "\n")
    .replace(/(<a [^>]*>)<img[^>]*alt="([^"]*)"[^>]*>/g, "$1$2")
    .replace(/<img src="([^"]*)" alt="([^"]*)"(?: title="([^"]*)")? \/>/g, (_, source, alt, title) => {
      return `<a href="${source}"${title ? ` title="${title}"` : ""}>${alt || source}</a>`;
    })
    .replace(/\n*(<\/?(?:p|ul|ol|li|blockquote|pre|hr|h\d)\b[^>]*>)\n*/g, "$1")
    .replace(/\n+<\/code><\/pre>/g, "</code></pre>")
    .replace(/<code( class="[^"]*")?>\n+/g, "<code$1>")
    .trim();
}

/** The text as HTML, to be compared with `normal(...)` of another's. */
export const shown = (markdown) => normal(read(markdown, false, new Map(), { copy: "" }).nodes.map(htmlOf).join(""));
