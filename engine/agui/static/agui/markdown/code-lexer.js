// @ts-check
/**
 * Find what has a colour in a block of code. It reads a text once: each pattern consumes all that
 * it has looked at, so its time is linear in the length of the text, whatever a model writes.
 */

/**
 * @typedef {"comment" | "string" | "keyword" | "number" | "name" | "added" | "removed" | "word"}
 *   Kind
 */
/** @typedef {{ kind: Kind, start: number, end: number }} Coloured */
/** @typedef {[kind: Kind, pattern: string]} Part */
/** @typedef {{ anyCase?: boolean, keys?: string }} Options `keys`: what follows a key */
/** @typedef {Options & { pattern: RegExp, kinds: Kind[], words: Set<string> }} Language */

const WORD = "[a-z_$\\u0080-\\uffff][\\w$\\u0080-\\uffff]*";
/** A word of a language that has keys: they may have dashes. */
const KEY = "[a-z_$\\u0080-\\uffff-][\\w$\\u0080-\\uffff.-]*";
/** @type {Part} */
const NUMBER = ["number", "\\d[\\w_]*(?:\\.\\d[\\w_]*)?"];
/** A quoted text; one without an end goes on to the end of its line, or of the code. */
const QUOTED = `"(?:\\\\[^]|[^"\\\\\\n])*"?|'(?:\\\\[^]|[^'\\\\\\n])*'?`;
const BACKTICKS = "`(?:\\\\[^]|[^`\\\\])*`?";
const TRIPLE = `"""(?:[^]*?"""|[^]*)|'''(?:[^]*?'''|[^]*)`;
const BLOCK_COMMENT = "\\/\\*(?:[^]*?\\*\\/|[^]*)";
/** A regular expression of JavaScript, which stands where a value may begin. */
const REGEX =
  "(?<=[=(,:[!&|?{};]\\s?)\\/(?![*/])" +
  "(?:\\\\.|\\[(?:\\\\.|[^\\]\\\\\\n])*\\]?|[^/\\\\\\n[])+\\/?[a-z]*";
/** @type {Part} */
const SLASHES = ["comment", `\\/\\/[^\\n]*|${BLOCK_COMMENT}`];
/** @type {Part} */
const HASH = ["comment", "(?<!\\S)#[^\\n]*"];
/** @type {Part} */
const STRING = ["string", QUOTED];

/**
 * @param {Part[]} parts the first that fits counts
 * @param {string} [words] the keywords
 * @param {Options} [options]
 * @returns {Language}
 */
function language(parts, words = "", options = {}) {
  /** @type {Part[]} */
  const all = [...parts, ["word", options.keys ? KEY : WORD], NUMBER];
  const pattern = new RegExp(all.map(([, source]) => `(${source})`).join("|"), "gi");
  const kinds = all.map(([kind]) => kind);
  return { ...options, pattern, kinds, words: new Set(words.split(" ")) };
}

/** @param {string} words */
const likeC = (words) => language([SLASHES, ["string", `${QUOTED}|${BACKTICKS}`]], words);

const C =
  "auto bool break case catch char class const continue default do double else enum extern " +
  "false float for goto if int long namespace new null private protected public return " +
  "short signed sizeof static struct switch template this throw true try typedef union " +
  "unsigned using virtual void volatile while";
const JAVA = C + " " +
  "abstract boolean extends final finally implements import instanceof interface package " +
  "super var";
const JS =
  "as async await break case catch class const continue default delete do else enum export " +
  "extends false finally for from function if implements import in instanceof interface let " +
  "new null of private public readonly return static super switch this throw true try type " +
  "typeof undefined var void while yield";
const PYTHON =
  "False None True and as assert async await break case class continue def del elif else " +
  "except finally for from global if import in is lambda match nonlocal not or pass raise " +
  "return self try while with yield";
const SQL =
  "add all alter and as asc begin between by cascade case check column commit constraint " +
  "create cross default delete desc distinct drop else end exists explain false foreign " +
  "from full group having if in index inner insert into is join key left like limit not " +
  "null offset on or order outer over partition primary references returning right rollback " +
  "select set table then true union unique update using values view when where with";
const SHELL =
  "case cd do done echo elif else esac exit export fi for function if in local return set " +
  "source sudo then while";
const RUBY =
  "alias and begin break case class def do else elsif end ensure false for if in module " +
  "next nil not or require rescue return self then true unless until when while yield";
const OTHERS =
  "abstract any as async await break case chan const continue crate data default defer do " +
  "dyn else enum extension false final fn for foreach fun func go guard if impl import in " +
  "init inout interface internal is let loop map match mod mut nil null object open " +
  "operator out override package private protected pub public range record return sealed " +
  "select self static struct super switch trait true try type union unsafe use using val " +
  "var void when where while";

const CONSTANTS = "true false null yes no on off";

/** How to make a language, by its first name. @type {Record<string, () => Language>} */
const LANGUAGES = {
  js: () => language([SLASHES, ["string", `${QUOTED}|${BACKTICKS}|${REGEX}`]], JS),
  c: () => likeC(C),
  java: () => likeC(JAVA),
  go: () => likeC(OTHERS),
  python: () => language([HASH, ["string", `${TRIPLE}|${QUOTED}`], ["name", "@[\\w.]+"]], PYTHON),
  ruby: () => language([HASH, STRING, ["name", "[:@]\\w+"]], RUBY),
  shell: () =>
    language([HASH, STRING, ["name", "\\$(?:\\w+|\\{[^}\\n]*\\}?)|(?<!\\S)--?[\\w-]+"]], SHELL),
  sql: () => language([["comment", `--[^\\n]*|${BLOCK_COMMENT}`], STRING], SQL, { anyCase: true }),
  json: () => language([SLASHES, STRING], CONSTANTS, { keys: ":" }),
  yaml: () => language([HASH, STRING], CONSTANTS, { keys: ":" }),
  ini: () => {
    const head = "(?<![^\\n])\\[[^\\]\\n]*\\]?";
    /** @type {Part} */
    const comment = ["comment", "(?<!\\S)[#;][^\\n]*"];
    return language([comment, STRING, ["keyword", head]], CONSTANTS, { keys: "=" });
  },
  css: () => {
    const selector = "[.#]-?[\\w-]+";
    const rule = "@[\\w-]+|!important";
    /** @type {Part} */
    const comment = ["comment", BLOCK_COMMENT];
    return language([comment, STRING, ["keyword", rule], ["name", selector]], "", { keys: ":" });
  },
  html: () => {
    /** @type {Part[]} */
    const parts = [
      ["comment", "<!--(?:[^]*?-->|[^]*)"],
      ["keyword", "<[/!?]?[\\w:-]*|[/?]?>"],
      ["string", `(?<==)(?:"[^"]*"?|'[^']*'?)`],
      ["number", "&#?\\w{1,31};"],
    ];
    return language(parts, "", { keys: "=" });
  },
  diff: () =>
    language([
      ["added", "(?<![^\\n])\\+[^\\n]*"],
      ["removed", "(?<![^\\n])-[^\\n]*"],
      ["name", "(?<![^\\n])@@[^\\n]*"],
    ]),
};
/** Other names, by the first one. */
const ALIASES = {
  js: "javascript jsx ts tsx typescript mjs cjs vue svelte",
  c: "cpp c++ h hpp objc objective-c glsl cuda",
  java: "cs csharp c# dart groovy",
  go: "golang rs rust kt kotlin swift scala php zig proto graphql",
  python: "py python3 pycon starlark",
  ruby: "rb elixir ex crystal",
  shell: "sh bash zsh fish console shell-session powershell ps1 dockerfile docker makefile nginx",
  sql: "mysql postgresql postgres plsql sqlite",
  json: "json5 jsonc jsonl",
  yaml: "yml",
  ini: "toml conf properties env dotenv cfg",
  css: "scss less sass",
  html: "xml svg htm xhtml jinja django handlebars",
  diff: "patch udiff",
};
/** @type {Map<string, string>} */
const FIRST_NAMES = new Map();
for (const [first, names] of Object.entries(ALIASES)) {
  for (const name of [first, ...names.split(" ")]) FIRST_NAMES.set(name, first);
}
/** @type {Map<string, Language>} */
const made = new Map();

/** @param {string} name as a block of code has it @returns {Language | undefined} */
function languageOf(name) {
  const first = FIRST_NAMES.get(name.toLowerCase());
  if (!first) return undefined;
  if (!made.has(first)) made.set(first, LANGUAGES[first]());
  return made.get(first);
}

/**
 * The coloured places of a text in their order; none if the language is unknown.
 * @param {string} text @param {string} name of the language @param {number} [most] places
 * @returns {Coloured[]}
 */
export function coloured(text, name, most = Infinity) {
  const found = languageOf(name);
  if (!found) return [];
  /** @type {Coloured[]} */
  const places = [];
  const { pattern } = found;
  pattern.lastIndex = 0;
  for (let match; places.length < most && (match = pattern.exec(text)); ) {
    const end = pattern.lastIndex;
    const kind = kindOf(match, text[text[end] === " " ? end + 1 : end], found);
    if (kind) places.push({ kind, start: match.index, end });
  }
  return places;
}

/**
 * A word is a keyword, a key, or the name of what is called, if it is anything.
 * @param {RegExpExecArray} match @param {string} next the character behind it and a blank
 * @param {Language} language @returns {Kind | undefined}
 */
function kindOf(match, next, { kinds, words, anyCase, keys }) {
  const [whole] = match;
  const kind = kinds[match.findLastIndex((group) => group !== undefined) - 1];
  if (keys?.includes(next) && (kind === "string" || kind === "word")) return "name";
  if (kind !== "word") return kind;
  if (words.has(anyCase ? whole.toLowerCase() : whole)) return "keyword";
  return next === "(" ? "name" : undefined;
}
