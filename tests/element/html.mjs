// What Markdown is read as, in the HTML that public suites are written in.
globalThis.document = { baseURI: "https://page.example/" };
export const { loadHtml, loadNames, loadShapes, read } = await import("./agui/markdown/nodes.js");
await Promise.all([loadHtml(), loadNames(), loadShapes()]);

const { toHtml } = await import("./agui/markdown/to-html.js");

/** Our description of elements as HTML, as it is copied, with addresses as they are written. */
export const htmlOf = (node) => toHtml([node], (href) => href);

/** HTML as it can be compared: every line break is kept, and an image is a link that loads nothing. */
export function normal(html) {
  return html
    .replace(/<br( \/)?>\n?/g, "\n")
    .replaceAll("<hr />", "<hr>")
    .replace(/<table [^>]*>/g, "<table>")
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
