// @ts-check
/** The characters of TeX's commands, and the alphabets of its fonts. */

/**
 * What a command is: a letter or the like, an operator or relation, a large operator with limits,
 * an integral, a delimiter, or a name in VALUES.
 * @typedef {{ kind: string, text: string }} Command
 */

/** Each name is followed by its character. @type {Record<string, string>} */
const SIGNS = {
  letter:
    "alphaαbetaβgammaγdeltaδepsilonϵvarepsilonεzetaζetaηthetaθvarthetaϑiotaιkappaκlambdaλmuμ" +
    "nuνxiξpiπvarpiϖrhoρvarrhoϱsigmaσvarsigmaςtauτupsilonυphiϕvarphiφchiχpsiψomegaωGammaΓ" +
    "DeltaΔThetaΘLambdaΛXiΞPiΠSigmaΣUpsilonΥPhiΦPsiΨOmegaΩAlphaΑBetaΒEpsilonΕZetaΖEtaΗIotaΙ" +
    "KappaΚMuΜNuΝRhoΡTauΤChiΧinfty∞partial∂nabla∇forall∀exists∃nexists∄emptyset∅varnothing∅" +
    "hbarℏellℓReℜImℑwp℘alephℵbethℶgimelℷangle∠triangle△vartriangle△Box□square□blacksquare■" +
    "bigstar★Diamond◊lozenge◊top⊤bot⊥prime′neg¬lnot¬imathıjmathȷdegree°sharp♯flat♭clubsuit♣" +
    "diamondsuit♢heartsuit♡spadesuit♠ldots…dots…dotsc…dotso…cdots⋯dotsb⋯dotsm⋯dotsi⋯vdots⋮" +
    "ddots⋱checkmark✓S§P¶pounds£vert|Vert‖backslash\\RℝNℕZℤQℚCℂ",
  operator:
    "pm±mp∓times×div÷cdot⋅ast∗star⋆circ∘bullet∙cap∩cup∪sqcap⊓sqcup⊔uplus⊎wedge∧land∧vee∨lor∨" +
    "setminus∖smallsetminus∖oplus⊕ominus⊖otimes⊗oslash⊘odot⊙boxplus⊞boxtimes⊠dagger†ddagger‡" +
    "ltimes⋉rtimes⋊bowtie⋈diamond⋄triangleleft◃triangleright▹lhd⊲rhd⊳centerdot⋅leq≤le≤geq≥ge≥" +
    "leqslant⩽geqslant⩾leqq≦geqq≧neq≠ne≠equiv≡approx≈approxeq≊cong≅sim∼simeq≃propto∝" +
    "varpropto∝ll≪gg≫lll⋘ggg⋙prec≺succ≻preceq⪯succeq⪰preccurlyeq≼succcurlyeq≽precsim≾succsim≿" +
    "lesssim≲gtrsim≳lessapprox⪅gtrapprox⪆asymp≍doteq≐triangleq≜in∈notin∉ni∋subset⊂supset⊃" +
    "subseteq⊆supseteq⊇subsetneq⊊supsetneq⊋nsubseteq⊈nsupseteq⊉sqsubset⊏sqsupset⊐sqsubseteq⊑" +
    "sqsupseteq⊒mid∣nmid∤parallel∥nparallel∦perp⟂vdash⊢dashv⊣models⊨vDash⊨Vdash⊩nvdash⊬" +
    "nvDash⊭therefore∴because∵trianglelefteq⊴trianglerighteq⊵vartriangleleft⊲" +
    "vartriangleright⊳nleq≰ngeq≱nless≮ngtr≯coloneqq≔eqqcolon≕colon:to→rightarrow→rarr→" +
    "leftarrow←gets←leftrightarrow↔Rightarrow⇒Leftarrow⇐Leftrightarrow⇔uparrow↑downarrow↓" +
    "updownarrow↕Uparrow⇑Downarrow⇓Updownarrow⇕longrightarrow⟶longleftarrow⟵" +
    "longleftrightarrow⟷Longrightarrow⟹Longleftarrow⟸Longleftrightarrow⟺implies⟹impliedby⟸" +
    "iff⟺mapsto↦longmapsto⟼hookrightarrow↪hookleftarrow↩twoheadrightarrow↠rightarrowtail↣" +
    "nearrow↗searrow↘swarrow↙nwarrow↖rightharpoonup⇀rightharpoondown⇁leftharpoonup↼" +
    "leftharpoondown↽rightleftharpoons⇌leftrightharpoons⇋rightleftarrows⇄leftrightarrows⇆" +
    "rightrightarrows⇉restriction↾rightsquigarrow⇝leadsto⇝",
  large:
    "sum∑prod∏coprod∐bigcup⋃bigcap⋂bigsqcup⨆bigvee⋁bigwedge⋀bigoplus⨁bigotimes⨂bigodot⨀" +
    "biguplus⨄",
  integral: "int∫iint∬iiint∭iiiint⨌oint∮oiint∯",
  open: "langle⟨lang⟨lfloor⌊lceil⌈lbrace{lbrack[lvert|lVert‖",
  close: "rangle⟩rang⟩rfloor⌋rceil⌉rbrace}rbrack]rvert|rVert‖",
};

/** Each name with what the reader needs for it: a font, a class, a width in em, a character. */
const VALUES = {
  font:
    "mathrm=rm mathbf=bf bold=bf mathbb=bb Bbb=bb mathcal=cal mathscr=cal " +
    "mathfrak=frak mathit=it mathsf=sf mathtt=tt mathnormal= boldsymbol=bi bm=bi",
  words:
    "text= mbox= hbox= textrm= textnormal= textup= textit=it textbf=bf textsf=sf texttt=tt",
  space: ",=.1667 thinspace=.1667 :=.2222 >=.2222 ;=.2778 !=-.1667 enspace=.5 quad=1 qquad=2",
  accent:
    "hat=^ bar=¯ vec=→ dot=˙ ddot=¨ tilde=~ check=ˇ breve=˘ acute=´ grave=` mathring=˚",
  wide: "widehat=^ widetilde=~ overrightarrow=→ overleftarrow=← overbrace=⏞ underbrace=⏟",
  arrow: "xrightarrow=→ xleftarrow=← xleftrightarrow=↔ xRightarrow=⇒",
  line: "overline=over underline=under boxed=box cancel=cross",
  function:
    "sin= cos= tan= cot= sec= csc= arcsin= arccos= arctan= sinh= cosh= tanh= coth= exp= log= ln= " +
    "lg= arg= deg= dim= hom= ker=",
  limits: "lim= limsup= liminf= max= min= sup= inf= det= gcd= Pr=",
  fraction: "frac= dfrac= tfrac= cfrac= binom= dbinom= tbinom=",
  inner: "mathord= mathopen= mathclose= mathinner= mathpunct= mathbin= mathrel= smash=",
  nothing: "nonumber= notag= displaylimits=",
};

/** @type {Map<string, Command>} by their names */
export const COMMANDS = new Map([
  ["{", { kind: "open", text: "{" }],
  ["}", { kind: "close", text: "}" }],
  ["|", { kind: "letter", text: "‖" }],
  [" ", { kind: "space", text: ".25" }],
]);
for (const [kind, table] of Object.entries(SIGNS)) {
  for (const [, name, text] of table.matchAll(/([a-z]+)([^a-z]+)/gi)) {
    COMMANDS.set(name, { kind, text });
  }
}
/** The same signs without a command. @type {Map<string, Command>} */
export const TEX_CHARACTERS = new Map();
for (const command of COMMANDS.values()) TEX_CHARACTERS.set(command.text, command);
for (const [kind, values] of Object.entries(VALUES)) {
  for (const value of values.split(" ")) {
    const at = value.indexOf("=");
    COMMANDS.set(value.slice(0, at), { kind, text: value.slice(at + 1) });
  }
}

/** What is around their tables, and the class of these. @type {Record<string, string[]>} */
export const ENVIRONMENTS = {
  matrix: [],
  smallmatrix: [],
  array: [],
  pmatrix: ["(", ")"],
  bmatrix: ["[", "]"],
  Bmatrix: ["{", "}"],
  vmatrix: ["|", "|"],
  Vmatrix: ["‖", "‖"],
  cases: ["{", "", "cases"],
  dcases: ["{", "", "cases"],
  rcases: ["", "}", "cases"],
};
for (const name of ["gather", "gathered", "equation", "multline"]) {
  ENVIRONMENTS[name] = ["", "", "rows"];
}
for (const name of ["align", "aligned", "alignat", "alignedat", "split", "eqnarray"]) {
  ENVIRONMENTS[name] = ["", "", "align"];
}

/**
 * Where these letters of a font begin in Unicode.
 * @type {Record<string, number[]>}
 */
const ALPHABETS = {
  bf: [0x1d400, 0x1d41a, 0x1d7ce, 0x1d6a8, 0x1d6c2],
  bi: [0x1d468, 0x1d482, 0x1d7ce, 0x1d6a8, 0x1d736],
  bb: [0x1d538, 0x1d552, 0x1d7d8],
  cal: [0x1d49c, 0x1d4b6],
  frak: [0x1d504, 0x1d51e],
  sf: [0x1d5a0, 0x1d5ba, 0x1d7e2],
  tt: [0x1d670, 0x1d68a, 0x1d7f6],
};
const RANGES = [
  "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
  "abcdefghijklmnopqrstuvwxyz",
  "0123456789",
  "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡϴΣΤΥΦΧΨΩ∇",
  "αβγδεζηθικλμνξοπρςστυφχψω∂ϵϑϰϕϱϖ",
];
/** Letters that are elsewhere in Unicode, for older reasons. @type {Record<string, string>} */
const ELSEWHERE = {
  bb: "CℂHℍNℕPℙQℚRℝZℤ",
  cal: "BℬEℰFℱHℋIℐLℒMℳRℛeℯgℊoℴ",
  frak: "CℭHℌIℑRℜZℨ",
};

/** A letter or digit in a font. @param {string} letter @param {string} font */
export function styled(letter, font) {
  const elsewhere = (ELSEWHERE[font] ?? "").indexOf(letter);
  if (elsewhere % 2 === 0) return ELSEWHERE[font][elsewhere + 1];
  const range = RANGES.findIndex((letters) => letters.includes(letter));
  const first = ALPHABETS[font]?.[range];
  return first ? String.fromCodePoint(first + RANGES[range].indexOf(letter)) : letter;
}
