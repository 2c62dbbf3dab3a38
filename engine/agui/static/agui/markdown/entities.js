// @ts-check
/**
 * The names of HTML's character references, except the few that markdown-nodes.js has. A text
 * with another name loads this module. https://html.spec.whatwg.org/multipage/named-characters.html
 */
const NAMES = `
AElig=Æ AMP=& Aacute=Á Abreve=Ă Acirc=Â Acy=А Afr=\u{1d504} Agrave=À Alpha=Α Amacr=Ā And=⩓ Aogon=Ą
Aopf=\u{1d538} ApplyFunction,af=\u2061 Aring,angst=Å Ascr=\u{1d49c} Assign,colone,coloneq=≔
Atilde=Ã Auml=Ä Backslash,setminus,setmn,smallsetminus,ssetmn=∖ Barv=⫧ Barwed,doublebarwedge=⌆
Bcy=Б Because,becaus,because=∵ Bernoullis,Bscr,bernou=ℬ Beta=Β Bfr=\u{1d505} Bopf=\u{1d539}
Breve,breve=˘ Bumpeq,HumpDownHump,bump=≎ CHcy=Ч COPY,copy=© Cacute=Ć Cap=⋒
CapitalDifferentialD,DD=ⅅ Cayleys,Cfr=ℭ Ccaron=Č Ccedil=Ç Ccirc=Ĉ Cconint=∰ Cdot=Ċ Cedilla,cedil=¸
CenterDot,centerdot,middot=· Chi=Χ CircleDot,odot=⊙ CircleMinus,ominus=⊖ CirclePlus,oplus=⊕
CircleTimes,otimes=⊗ ClockwiseContourIntegral,cwconint=∲ CloseCurlyDoubleQuote,rdquo,rdquor=”
CloseCurlyQuote,rsquo,rsquor=’ Colon,Proportion=∷ Colone=⩴ Congruent,equiv=≡
Conint,DoubleContourIntegral=∯ ContourIntegral,conint,oint=∮ Copf,complexes=ℂ Coproduct,coprod=∐
CounterClockwiseContourIntegral,awconint=∳ Cross=⨯ Cscr=\u{1d49e} Cup=⋓ CupCap,asympeq=≍
DDotrahd=⤑ DJcy=Ђ DScy=Ѕ DZcy=Џ Dagger,ddagger=‡ Darr=↡ Dashv,DoubleLeftTee=⫤ Dcaron=Ď Dcy=Д
Del,nabla=∇ Delta=Δ Dfr=\u{1d507} DiacriticalAcute,acute=´ DiacriticalDot,dot=˙
DiacriticalDoubleAcute,dblac=˝ DiacriticalGrave,grave=\` DiacriticalTilde,tilde=˜
Diamond,diam,diamond=⋄ DifferentialD,dd=ⅆ Dopf=\u{1d53b} Dot,DoubleDot,die,uml=¨ DotDot=\u20dc
DotEqual,doteq,esdot=≐ DoubleDownArrow,Downarrow,dArr=⇓ DoubleLeftArrow,Leftarrow,lArr=⇐
DoubleLeftRightArrow,Leftrightarrow,hArr,iff=⇔ DoubleLongLeftArrow,Longleftarrow,xlArr=⟸
DoubleLongLeftRightArrow,Longleftrightarrow,xhArr=⟺ DoubleLongRightArrow,Longrightarrow,xrArr=⟹
DoubleRightArrow,Implies,Rightarrow,rArr=⇒ DoubleRightTee,vDash=⊨ DoubleUpArrow,Uparrow,uArr=⇑
DoubleUpDownArrow,Updownarrow,vArr=⇕ DoubleVerticalBar,par,parallel,shortparallel,spar=∥
DownArrow,ShortDownArrow,darr,downarrow=↓ DownArrowBar=⤓ DownArrowUpArrow,duarr=⇵ DownBreve=\u0311
DownLeftRightVector=⥐ DownLeftTeeVector=⥞ DownLeftVector,leftharpoondown,lhard=↽
DownLeftVectorBar=⥖ DownRightTeeVector=⥟ DownRightVector,rhard,rightharpoondown=⇁
DownRightVectorBar=⥗ DownTee,top=⊤ DownTeeArrow,mapstodown=↧ Dscr=\u{1d49f} Dstrok=Đ ENG=Ŋ ETH=Ð
Eacute=É Ecaron=Ě Ecirc=Ê Ecy=Э Edot=Ė Efr=\u{1d508} Egrave=È Element,in,isin,isinv=∈ Emacr=Ē
EmptySmallSquare=◻ EmptyVerySmallSquare=▫ Eogon=Ę Eopf=\u{1d53c} Epsilon=Ε Equal=⩵
EqualTilde,eqsim,esim=≂ Equilibrium,rightleftharpoons,rlhar=⇌ Escr,expectation=ℰ Esim=⩳ Eta=Η
Euml=Ë Exists,exist=∃ ExponentialE,ee,exponentiale=ⅇ Fcy=Ф Ffr=\u{1d509} FilledSmallSquare=◼
FilledVerySmallSquare,blacksquare,squarf,squf=▪ Fopf=\u{1d53d} ForAll,forall=∀ Fouriertrf,Fscr=ℱ
GJcy=Ѓ GT=> Gamma=Γ Gammad=Ϝ Gbreve=Ğ Gcedil=Ģ Gcirc=Ĝ Gcy=Г Gdot=Ġ Gfr=\u{1d50a} Gg,ggg=⋙
Gopf=\u{1d53e} GreaterEqual,ge,geq=≥ GreaterEqualLess,gel,gtreqless=⋛ GreaterFullEqual,gE,geqq=≧
GreaterGreater=⪢ GreaterLess,gl,gtrless=≷ GreaterSlantEqual,geqslant,ges=⩾
GreaterTilde,gsim,gtrsim=≳ Gscr=\u{1d4a2} Gt,NestedGreaterGreater,gg=≫ HARDcy=Ъ Hacek,caron=ˇ
Hat=^ Hcirc=Ĥ Hfr,Poincareplane=ℌ HilbertSpace,Hscr,hamilt=ℋ Hopf,quaternions=ℍ
HorizontalLine,boxh=─ Hstrok=Ħ HumpEqual,bumpe,bumpeq=≏ IEcy=Е IJlig=Ĳ IOcy=Ё Iacute=Í Icirc=Î
Icy=И Idot=İ Ifr,Im,image,imagpart=ℑ Igrave=Ì Imacr=Ī ImaginaryI,ii=ⅈ Int=∬ Integral,int=∫
Intersection,bigcap,xcap=⋂ InvisibleComma,ic=\u2063 InvisibleTimes,it=\u2062 Iogon=Į
Iopf=\u{1d540} Iota=Ι Iscr,imagline=ℐ Itilde=Ĩ Iukcy=І Iuml=Ï Jcirc=Ĵ Jcy=Й Jfr=\u{1d50d}
Jopf=\u{1d541} Jscr=\u{1d4a5} Jsercy=Ј Jukcy=Є KHcy=Х KJcy=Ќ Kappa=Κ Kcedil=Ķ Kcy=К Kfr=\u{1d50e}
Kopf=\u{1d542} Kscr=\u{1d4a6} LJcy=Љ LT=< Lacute=Ĺ Lambda=Λ Lang=⟪ Laplacetrf,Lscr,lagran=ℒ
Larr,twoheadleftarrow=↞ Lcaron=Ľ Lcedil=Ļ Lcy=Л LeftAngleBracket,lang,langle=⟨
LeftArrow,ShortLeftArrow,larr,leftarrow,slarr=← LeftArrowBar,larrb=⇤
LeftArrowRightArrow,leftrightarrows,lrarr=⇆ LeftCeiling,lceil=⌈ LeftDoubleBracket,lobrk=⟦
LeftDownTeeVector=⥡ LeftDownVector,dharl,downharpoonleft=⇃ LeftDownVectorBar=⥙ LeftFloor,lfloor=⌊
LeftRightArrow,harr,leftrightarrow=↔ LeftRightVector=⥎ LeftTee,dashv=⊣ LeftTeeArrow,mapstoleft=↤
LeftTeeVector=⥚ LeftTriangle,vartriangleleft,vltri=⊲ LeftTriangleBar=⧏
LeftTriangleEqual,ltrie,trianglelefteq=⊴ LeftUpDownVector=⥑ LeftUpTeeVector=⥠
LeftUpVector,uharl,upharpoonleft=↿ LeftUpVectorBar=⥘ LeftVector,leftharpoonup,lharu=↼
LeftVectorBar=⥒ LessEqualGreater,leg,lesseqgtr=⋚ LessFullEqual,lE,leqq=≦ LessGreater,lessgtr,lg=≶
LessLess=⪡ LessSlantEqual,leqslant,les=⩽ LessTilde,lesssim,lsim=≲ Lfr=\u{1d50f} Ll=⋘
Lleftarrow,lAarr=⇚ Lmidot=Ŀ LongLeftArrow,longleftarrow,xlarr=⟵
LongLeftRightArrow,longleftrightarrow,xharr=⟷ LongRightArrow,longrightarrow,xrarr=⟶ Lopf=\u{1d543}
LowerLeftArrow,swarr,swarrow=↙ LowerRightArrow,searr,searrow=↘ Lsh,lsh=↰ Lstrok=Ł
Lt,NestedLessLess,ll=≪ Map=⤅ Mcy=М MediumSpace=\u205f Mellintrf,Mscr,phmmat=ℳ Mfr=\u{1d510}
MinusPlus,mnplus,mp=∓ Mopf=\u{1d544} Mu=Μ NJcy=Њ Nacute=Ń Ncaron=Ň Ncedil=Ņ Ncy=Н
NegativeMediumSpace,NegativeThickSpace,NegativeThinSpace,NegativeVeryThinSpace,ZeroWidthSpace=\u200b
Nfr=\u{1d511} NoBreak=\u2060 NonBreakingSpace=\u00a0 Nopf,naturals=ℕ Not=⫬ NotCongruent,nequiv=≢
NotCupCap=≭ NotDoubleVerticalBar,npar,nparallel,nshortparallel,nspar=∦ NotElement,notin,notinva=∉
NotEqual,ne=≠ NotEqualTilde,nesim=≂\u0338 NotExists,nexist,nexists=∄ NotGreater,ngt,ngtr=≯
NotGreaterEqual,nge,ngeq=≱ NotGreaterFullEqual,ngE,ngeqq=≧\u0338 NotGreaterGreater,nGtv=≫\u0338
NotGreaterLess,ntgl=≹ NotGreaterSlantEqual,ngeqslant,nges=⩾\u0338 NotGreaterTilde,ngsim=≵
NotHumpDownHump,nbump=≎\u0338 NotHumpEqual,nbumpe=≏\u0338 NotLeftTriangle,nltri,ntriangleleft=⋪
NotLeftTriangleBar=⧏\u0338 NotLeftTriangleEqual,nltrie,ntrianglelefteq=⋬ NotLess,nless,nlt=≮
NotLessEqual,nle,nleq=≰ NotLessGreater,ntlg=≸ NotLessLess,nLtv=≪\u0338
NotLessSlantEqual,nleqslant,nles=⩽\u0338 NotLessTilde,nlsim=≴ NotNestedGreaterGreater=⪢\u0338
NotNestedLessLess=⪡\u0338 NotPrecedes,npr,nprec=⊀ NotPrecedesEqual,npre,npreceq=⪯\u0338
NotPrecedesSlantEqual,nprcue=⋠ NotReverseElement,notni,notniva=∌
NotRightTriangle,nrtri,ntriangleright=⋫ NotRightTriangleBar=⧐\u0338
NotRightTriangleEqual,nrtrie,ntrianglerighteq=⋭ NotSquareSubset=⊏\u0338
NotSquareSubsetEqual,nsqsube=⋢ NotSquareSuperset=⊐\u0338 NotSquareSupersetEqual,nsqsupe=⋣
NotSubset,nsubset,vnsub=⊂\u20d2 NotSubsetEqual,nsube,nsubseteq=⊈ NotSucceeds,nsc,nsucc=⊁
NotSucceedsEqual,nsce,nsucceq=⪰\u0338 NotSucceedsSlantEqual,nsccue=⋡ NotSucceedsTilde=≿\u0338
NotSuperset,nsupset,vnsup=⊃\u20d2 NotSupersetEqual,nsupe,nsupseteq=⊉ NotTilde,nsim=≁
NotTildeEqual,nsime,nsimeq=≄ NotTildeFullEqual,ncong=≇ NotTildeTilde,nap,napprox=≉
NotVerticalBar,nmid,nshortmid,nsmid=∤ Nscr=\u{1d4a9} Ntilde=Ñ Nu=Ν OElig=Œ Oacute=Ó Ocirc=Ô Ocy=О
Odblac=Ő Ofr=\u{1d512} Ograve=Ò Omacr=Ō Omega,ohm=Ω Omicron=Ο Oopf=\u{1d546}
OpenCurlyDoubleQuote,ldquo=“ OpenCurlyQuote,lsquo=‘ Or=⩔ Oscr=\u{1d4aa} Oslash=Ø Otilde=Õ Otimes=⨷
Ouml=Ö OverBar,oline=‾ OverBrace=⏞ OverBracket,tbrk=⎴ OverParenthesis=⏜ PartialD,part=∂ Pcy=П
Pfr=\u{1d513} Phi=Φ Pi=Π PlusMinus,plusmn,pm=± Popf,primes=ℙ Pr=⪻ Precedes,pr,prec=≺
PrecedesEqual,pre,preceq=⪯ PrecedesSlantEqual,prcue,preccurlyeq=≼ PrecedesTilde,precsim,prsim=≾
Prime=″ Product,prod=∏ Proportional,prop,propto,varpropto,vprop=∝ Pscr=\u{1d4ab} Psi=Ψ QUOT="
Qfr=\u{1d514} Qopf,rationals=ℚ Qscr=\u{1d4ac} RBarr,drbkarow=⤐ REG,circledR,reg=® Racute=Ŕ Rang=⟫
Rarr,twoheadrightarrow=↠ Rarrtl=⤖ Rcaron=Ř Rcedil=Ŗ Rcy=Р Re,Rfr,real,realpart=ℜ
ReverseElement,SuchThat,ni,niv=∋ ReverseEquilibrium,leftrightharpoons,lrhar=⇋
ReverseUpEquilibrium,duhar=⥯ Rho=Ρ RightAngleBracket,rang,rangle=⟩
RightArrow,ShortRightArrow,rarr,rightarrow,srarr=→ RightArrowBar,rarrb=⇥
RightArrowLeftArrow,rightleftarrows,rlarr=⇄ RightCeiling,rceil=⌉ RightDoubleBracket,robrk=⟧
RightDownTeeVector=⥝ RightDownVector,dharr,downharpoonright=⇂ RightDownVectorBar=⥕
RightFloor,rfloor=⌋ RightTee,vdash=⊢ RightTeeArrow,map,mapsto=↦ RightTeeVector=⥛
RightTriangle,vartriangleright,vrtri=⊳ RightTriangleBar=⧐
RightTriangleEqual,rtrie,trianglerighteq=⊵ RightUpDownVector=⥏ RightUpTeeVector=⥜
RightUpVector,uharr,upharpoonright=↾ RightUpVectorBar=⥔ RightVector,rharu,rightharpoonup=⇀
RightVectorBar=⥓ Ropf,reals=ℝ RoundImplies=⥰ Rrightarrow,rAarr=⇛ Rscr,realine=ℛ Rsh,rsh=↱
RuleDelayed=⧴ SHCHcy=Щ SHcy=Ш SOFTcy=Ь Sacute=Ś Sc=⪼ Scaron=Š Scedil=Ş Scirc=Ŝ Scy=С Sfr=\u{1d516}
ShortUpArrow,UpArrow,uarr,uparrow=↑ Sigma=Σ SmallCircle,compfn=∘ Sopf=\u{1d54a} Sqrt,radic=√
Square,squ,square=□ SquareIntersection,sqcap=⊓ SquareSubset,sqsub,sqsubset=⊏
SquareSubsetEqual,sqsube,sqsubseteq=⊑ SquareSuperset,sqsup,sqsupset=⊐
SquareSupersetEqual,sqsupe,sqsupseteq=⊒ SquareUnion,sqcup=⊔ Sscr=\u{1d4ae} Star,sstarf=⋆
Sub,Subset=⋐ SubsetEqual,sube,subseteq=⊆ Succeeds,sc,succ=≻ SucceedsEqual,sce,succeq=⪰
SucceedsSlantEqual,sccue,succcurlyeq=≽ SucceedsTilde,scsim,succsim=≿ Sum,sum=∑ Sup,Supset=⋑
Superset,sup,supset=⊃ SupersetEqual,supe,supseteq=⊇ THORN=Þ TRADE,trade=™ TSHcy=Ћ TScy=Ц
Tab=\u0009 Tau=Τ Tcaron=Ť Tcedil=Ţ Tcy=Т Tfr=\u{1d517} Therefore,there4,therefore=∴ Theta=Θ
ThickSpace=\u205f\u200a ThinSpace,thinsp=\u2009 Tilde,sim,thicksim,thksim=∼
TildeEqual,sime,simeq=≃ TildeFullEqual,cong=≅ TildeTilde,ap,approx,asymp,thickapprox,thkap=≈
Topf=\u{1d54b} TripleDot,tdot=\u20db Tscr=\u{1d4af} Tstrok=Ŧ Uacute=Ú Uarr=↟ Uarrocir=⥉ Ubrcy=Ў
Ubreve=Ŭ Ucirc=Û Ucy=У Udblac=Ű Ufr=\u{1d518} Ugrave=Ù Umacr=Ū UnderBar,lowbar=_ UnderBrace=⏟
UnderBracket,bbrk=⎵ UnderParenthesis=⏝ Union,bigcup,xcup=⋃ UnionPlus,uplus=⊎ Uogon=Ų
Uopf=\u{1d54c} UpArrowBar=⤒ UpArrowDownArrow,udarr=⇅ UpDownArrow,updownarrow,varr=↕
UpEquilibrium,udhar=⥮ UpTee,bot,bottom,perp=⊥ UpTeeArrow,mapstoup=↥ UpperLeftArrow,nwarr,nwarrow=↖
UpperRightArrow,nearr,nearrow=↗ Upsi,upsih=ϒ Upsilon=Υ Uring=Ů Uscr=\u{1d4b0} Utilde=Ũ Uuml=Ü
VDash=⊫ Vbar=⫫ Vcy=В Vdash=⊩ Vdashl=⫦ Vee,bigvee,xvee=⋁ Verbar,Vert=‖
VerticalBar,mid,shortmid,smid=∣ VerticalLine,verbar,vert=| VerticalSeparator=❘
VerticalTilde,wr,wreath=≀ VeryThinSpace,hairsp=\u200a Vfr=\u{1d519} Vopf=\u{1d54d} Vscr=\u{1d4b1}
Vvdash=⊪ Wcirc=Ŵ Wedge,bigwedge,xwedge=⋀ Wfr=\u{1d51a} Wopf=\u{1d54e} Wscr=\u{1d4b2} Xfr=\u{1d51b}
Xi=Ξ Xopf=\u{1d54f} Xscr=\u{1d4b3} YAcy=Я YIcy=Ї YUcy=Ю Yacute=Ý Ycirc=Ŷ Ycy=Ы Yfr=\u{1d51c}
Yopf=\u{1d550} Yscr=\u{1d4b4} Yuml=Ÿ ZHcy=Ж Zacute=Ź Zcaron=Ž Zcy=З Zdot=Ż Zeta=Ζ Zfr,zeetrf=ℨ
Zopf,integers=ℤ Zscr=\u{1d4b5} aacute=á abreve=ă ac,mstpos=∾ acE=∾\u0333 acd=∿ acirc=â acy=а
aelig=æ afr=\u{1d51e} agrave=à alefsym,aleph=ℵ alpha=α amacr=ā amalg=⨿ and,wedge=∧ andand=⩕ andd=⩜
andslope=⩘ andv=⩚ ang,angle=∠ ange=⦤ angmsd,measuredangle=∡ angmsdaa=⦨ angmsdab=⦩ angmsdac=⦪
angmsdad=⦫ angmsdae=⦬ angmsdaf=⦭ angmsdag=⦮ angmsdah=⦯ angrt=∟ angrtvb=⊾ angrtvbd=⦝ angsph=∢
angzarr=⍼ aogon=ą aopf=\u{1d552} apE=⩰ apacir=⩯ ape,approxeq=≊ apid=≋ aring=å ascr=\u{1d4b6}
ast,midast=* atilde=ã auml=ä awint=⨑ bNot=⫭ backcong,bcong=≌ backepsilon,bepsi=϶
backprime,bprime=‵ backsim,bsim=∽ backsimeq,bsime=⋍ barvee=⊽ barwed,barwedge=⌅ bbrktbrk=⎶ bcy=б
bdquo,ldquor=„ bemptyv=⦰ beta=β beth=ℶ between,twixt=≬ bfr=\u{1d51f} bigcirc,xcirc=◯
bigodot,xodot=⨀ bigoplus,xoplus=⨁ bigotimes,xotime=⨂ bigsqcup,xsqcup=⨆ bigstar,starf=★
bigtriangledown,xdtri=▽ bigtriangleup,xutri=△ biguplus,xuplus=⨄ bkarow,rbarr=⤍ blacklozenge,lozf=⧫
blacktriangle,utrif=▴ blacktriangledown,dtrif=▾ blacktriangleleft,ltrif=◂
blacktriangleright,rtrif=▸ blank=␣ blk12=▒ blk14=░ blk34=▓ block=█ bne==\u20e5 bnequiv=≡\u20e5
bnot=⌐ bopf=\u{1d553} bowtie=⋈ boxDL=╗ boxDR=╔ boxDl=╖ boxDr=╓ boxH=═ boxHD=╦ boxHU=╩ boxHd=╤
boxHu=╧ boxUL=╝ boxUR=╚ boxUl=╜ boxUr=╙ boxV=║ boxVH=╬ boxVL=╣ boxVR=╠ boxVh=╫ boxVl=╢ boxVr=╟
boxbox=⧉ boxdL=╕ boxdR=╒ boxdl=┐ boxdr=┌ boxhD=╥ boxhU=╨ boxhd=┬ boxhu=┴ boxminus,minusb=⊟
boxplus,plusb=⊞ boxtimes,timesb=⊠ boxuL=╛ boxuR=╘ boxul=┘ boxur=└ boxv=│ boxvH=╪ boxvL=╡ boxvR=╞
boxvh=┼ boxvl=┤ boxvr=├ brvbar=¦ bscr=\u{1d4b7} bsemi=⁏ bsol=\\ bsolb=⧅ bsolhsub=⟈ bull,bullet=•
bumpE=⪮ cacute=ć cap=∩ capand=⩄ capbrcup=⩉ capcap=⩋ capcup=⩇ capdot=⩀ caps=∩\ufe00 caret=⁁ ccaps=⩍
ccaron=č ccedil=ç ccirc=ĉ ccups=⩌ ccupssm=⩐ cdot=ċ cemptyv=⦲ cent=¢ cfr=\u{1d520} chcy=ч
check,checkmark=✓ chi=χ cir=○ cirE=⧃ circ=ˆ circeq,cire=≗ circlearrowleft,olarr=↺
circlearrowright,orarr=↻ circledS,oS=Ⓢ circledast,oast=⊛ circledcirc,ocir=⊚ circleddash,odash=⊝
cirfnint=⨐ cirmid=⫯ cirscir=⧂ clubs,clubsuit=♣ colon=: comma=, commat=@ comp,complement=∁
congdot=⩭ copf=\u{1d554} copysr=℗ crarr=↵ cross=✗ cscr=\u{1d4b8} csub=⫏ csube=⫑ csup=⫐ csupe=⫒
ctdot=⋯ cudarrl=⤸ cudarrr=⤵ cuepr,curlyeqprec=⋞ cuesc,curlyeqsucc=⋟ cularr,curvearrowleft=↶
cularrp=⤽ cup=∪ cupbrcap=⩈ cupcap=⩆ cupcup=⩊ cupdot=⊍ cupor=⩅ cups=∪\ufe00
curarr,curvearrowright=↷ curarrm=⤼ curlyvee,cuvee=⋎ curlywedge,cuwed=⋏ curren=¤ cwint=∱ cylcty=⌭
dHar=⥥ dagger=† daleth=ℸ dash,hyphen=‐ dbkarow,rBarr=⤏ dcaron=ď dcy=д ddarr,downdownarrows=⇊
ddotseq,eDDot=⩷ deg=° delta=δ demptyv=⦱ dfisht=⥿ dfr=\u{1d521} diamondsuit,diams=♦
digamma,gammad=ϝ disin=⋲ div,divide=÷ divideontimes,divonx=⋇ djcy=ђ dlcorn,llcorner=⌞ dlcrop=⌍
dollar=\u0024 dopf=\u{1d555} doteqdot,eDot=≑ dotminus,minusd=∸ dotplus,plusdo=∔ dotsquare,sdotb=⊡
drcorn,lrcorner=⌟ drcrop=⌌ dscr=\u{1d4b9} dscy=ѕ dsol=⧶ dstrok=đ dtdot=⋱ dtri,triangledown=▿
dwangle=⦦ dzcy=џ dzigrarr=⟿ eacute=é easter=⩮ ecaron=ě ecir,eqcirc=≖ ecirc=ê ecolon,eqcolon=≕
ecy=э edot=ė efDot,fallingdotseq=≒ efr=\u{1d522} eg=⪚ egrave=è egs,eqslantgtr=⪖ egsdot=⪘ el=⪙
elinters=⏧ ell=ℓ els,eqslantless=⪕ elsdot=⪗ emacr=ē empty,emptyset,emptyv,varnothing=∅ emsp=\u2003
emsp13=\u2004 emsp14=\u2005 eng=ŋ ensp=\u2002 eogon=ę eopf=\u{1d556} epar=⋕ eparsl=⧣ eplus=⩱
epsi,epsilon=ε epsiv,straightepsilon,varepsilon=ϵ equals== equest,questeq=≟ equivDD=⩸ eqvparsl=⧥
erDot,risingdotseq=≓ erarr=⥱ escr=ℯ eta=η eth=ð euml=ë euro=€ excl=! fcy=ф female=♀ ffilig=\ufb03
fflig=ﬀ ffllig=\ufb04 ffr=\u{1d523} filig=\ufb01 fjlig=fj flat=♭ fllig=\ufb02 fltns=▱ fnof=ƒ
fopf=\u{1d557} fork,pitchfork=⋔ forkv=⫙ fpartint=⨍ frac12,half=½ frac13=⅓ frac14=¼ frac15=⅕
frac16=⅙ frac18=⅛ frac23=⅔ frac25=⅖ frac34=¾ frac35=⅗ frac38=⅜ frac45=⅘ frac56=⅚ frac58=⅝ frac78=⅞
frasl=⁄ frown,sfrown=⌢ fscr=\u{1d4bb} gEl,gtreqqless=⪌ gacute=ǵ gamma=γ gap,gtrapprox=⪆ gbreve=ğ
gcirc=ĝ gcy=г gdot=ġ gescc=⪩ gesdot=⪀ gesdoto=⪂ gesdotol=⪄ gesl=⋛\ufe00 gesles=⪔ gfr=\u{1d524}
gimel=ℷ gjcy=ѓ glE=⪒ gla=⪥ glj=⪤ gnE,gneqq=≩ gnap,gnapprox=⪊ gne,gneq=⪈ gnsim=⋧ gopf=\u{1d558}
gscr=ℊ gsime=⪎ gsiml=⪐ gtcc=⪧ gtcir=⩺ gtdot,gtrdot=⋗ gtlPar=⦕ gtquest=⩼ gtrarr=⥸
gvertneqq,gvnE=≩\ufe00 hardcy=ъ harrcir=⥈ harrw,leftrightsquigarrow=↭ hbar,hslash,planck,plankv=ℏ
hcirc=ĥ hearts,heartsuit=♥ hellip,mldr=… hercon=⊹ hfr=\u{1d525} hksearow,searhk=⤥
hkswarow,swarhk=⤦ hoarr=⇿ homtht=∻ hookleftarrow,larrhk=↩ hookrightarrow,rarrhk=↪ hopf=\u{1d559}
horbar=― hscr=\u{1d4bd} hstrok=ħ hybull=⁃ iacute=í icirc=î icy=и iecy=е iexcl=¡ ifr=\u{1d526}
igrave=ì iiiint,qint=⨌ iiint,tint=∭ iinfin=⧜ iiota=℩ ijlig=ĳ imacr=ī imath,inodot=ı imof=⊷ imped=Ƶ
incare=℅ infin=∞ infintie=⧝ intcal,intercal=⊺ intlarhk=⨗ intprod,iprod=⨼ iocy=ё iogon=į
iopf=\u{1d55a} iota=ι iquest=¿ iscr=\u{1d4be} isinE=⋹ isindot=⋵ isins=⋴ isinsv=⋳ itilde=ĩ iukcy=і
iuml=ï jcirc=ĵ jcy=й jfr=\u{1d527} jmath=ȷ jopf=\u{1d55b} jscr=\u{1d4bf} jsercy=ј jukcy=є kappa=κ
kappav,varkappa=ϰ kcedil=ķ kcy=к kfr=\u{1d528} kgreen=ĸ khcy=х kjcy=ќ kopf=\u{1d55c}
kscr=\u{1d4c0} lAtail=⤛ lBarr=⤎ lEg,lesseqqgtr=⪋ lHar=⥢ lacute=ĺ laemptyv=⦴ lambda=λ langd=⦑
lap,lessapprox=⪅ laquo=« larrbfs=⤟ larrfs=⤝ larrlp,looparrowleft=↫ larrpl=⤹ larrsim=⥳
larrtl,leftarrowtail=↢ lat=⪫ latail=⤙ late=⪭ lates=⪭\ufe00 lbarr=⤌ lbbrk=❲ lbrace,lcub={
lbrack,lsqb=[ lbrke=⦋ lbrksld=⦏ lbrkslu=⦍ lcaron=ľ lcedil=ļ lcy=л ldca=⤶ ldrdhar=⥧ ldrushar=⥋
ldsh=↲ le,leq=≤ leftleftarrows,llarr=⇇ leftthreetimes,lthree=⋋ lescc=⪨ lesdot=⩿ lesdoto=⪁
lesdotor=⪃ lesg=⋚\ufe00 lesges=⪓ lessdot,ltdot=⋖ lfisht=⥼ lfr=\u{1d529} lgE=⪑ lharul=⥪ lhblk=▄
ljcy=љ llhard=⥫ lltri=◺ lmidot=ŀ lmoust,lmoustache=⎰ lnE,lneqq=≨ lnap,lnapprox=⪉ lne,lneq=⪇
lnsim=⋦ loang=⟬ loarr=⇽ longmapsto,xmap=⟼ looparrowright,rarrlp=↬ lopar=⦅ lopf=\u{1d55d} loplus=⨭
lotimes=⨴ lowast=∗ loz,lozenge=◊ lpar=( lparlt=⦓ lrhard=⥭ lrm=\u200e lrtri=⊿ lsaquo=‹
lscr=\u{1d4c1} lsime=⪍ lsimg=⪏ lsquor,sbquo=‚ lstrok=ł ltcc=⪦ ltcir=⩹ ltimes=⋉ ltlarr=⥶ ltquest=⩻
ltrPar=⦖ ltri,triangleleft=◃ lurdshar=⥊ luruhar=⥦ lvertneqq,lvnE=≨\ufe00 mDDot=∺ macr,strns=¯
male=♂ malt,maltese=✠ marker=▮ mcomma=⨩ mcy=м mdash=— mfr=\u{1d52a} mho=℧ micro=µ midcir=⫰ minus=−
minusdu=⨪ mlcp=⫛ models=⊧ mopf=\u{1d55e} mscr=\u{1d4c2} mu=μ multimap,mumap=⊸ nGg=⋙\u0338
nGt=≫\u20d2 nLeftarrow,nlArr=⇍ nLeftrightarrow,nhArr=⇎ nLl=⋘\u0338 nLt=≪\u20d2 nRightarrow,nrArr=⇏
nVDash=⊯ nVdash=⊮ nacute=ń nang=∠\u20d2 napE=⩰\u0338 napid=≋\u0338 napos=ŉ natur,natural=♮ ncap=⩃
ncaron=ň ncedil=ņ ncongdot=⩭\u0338 ncup=⩂ ncy=н ndash=– neArr=⇗ nearhk=⤤ nedot=≐\u0338
nesear,toea=⤨ nfr=\u{1d52b} nharr,nleftrightarrow=↮ nhpar=⫲ nis=⋼ nisd=⋺ njcy=њ nlE,nleqq=≦\u0338
nlarr,nleftarrow=↚ nldr=‥ nopf=\u{1d55f} not=¬ notinE=⋹\u0338 notindot=⋵\u0338 notinvb=⋷ notinvc=⋶
notnivb=⋾ notnivc=⋽ nparsl=⫽\u20e5 npart=∂\u0338 npolint=⨔ nrarr,nrightarrow=↛ nrarrc=⤳\u0338
nrarrw=↝\u0338 nscr=\u{1d4c3} nsub=⊄ nsubE,nsubseteqq=⫅\u0338 nsup=⊅ nsupE,nsupseteqq=⫆\u0338
ntilde=ñ nu=ν num=# numero=№ numsp=\u2007 nvDash=⊭ nvHarr=⤄ nvap=≍\u20d2 nvdash=⊬ nvge=≥\u20d2
nvgt=>\u20d2 nvinfin=⧞ nvlArr=⤂ nvle=≤\u20d2 nvlt=<\u20d2 nvltrie=⊴\u20d2 nvrArr=⤃ nvrtrie=⊵\u20d2
nvsim=∼\u20d2 nwArr=⇖ nwarhk=⤣ nwnear=⤧ oacute=ó ocirc=ô ocy=о odblac=ő odiv=⨸ odsold=⦼ oelig=œ
ofcir=⦿ ofr=\u{1d52c} ogon=˛ ograve=ò ogt=⧁ ohbar=⦵ olcir=⦾ olcross=⦻ olt=⧀ omacr=ō omega=ω
omicron=ο omid=⦶ oopf=\u{1d560} opar=⦷ operp=⦹ or,vee=∨ ord=⩝ order,orderof,oscr=ℴ ordf=ª ordm=º
origof=⊶ oror=⩖ orslope=⩗ orv=⩛ oslash=ø osol=⊘ otilde=õ otimesas=⨶ ouml=ö ovbar=⌽ para=¶ parsim=⫳
parsl=⫽ pcy=п percnt=% period=. permil=‰ pertenk=‱ pfr=\u{1d52d} phi=φ phiv,straightphi,varphi=ϕ
phone=☎ pi=π piv,varpi=ϖ planckh=ℎ plus=+ plusacir=⨣ pluscir=⨢ plusdu=⨥ pluse=⩲ plussim=⨦
plustwo=⨧ pointint=⨕ popf=\u{1d561} pound=£ prE=⪳ prap,precapprox=⪷ precnapprox,prnap=⪹
precneqq,prnE=⪵ precnsim,prnsim=⋨ prime=′ profalar=⌮ profline=⌒ profsurf=⌓ prurel=⊰ pscr=\u{1d4c5}
psi=ψ puncsp=\u2008 qfr=\u{1d52e} qopf=\u{1d562} qprime=⁗ qscr=\u{1d4c6} quatint=⨖ quest=?
rAtail=⤜ rHar=⥤ race=∽\u0331 racute=ŕ raemptyv=⦳ rangd=⦒ range=⦥ raquo=» rarrap=⥵ rarrbfs=⤠
rarrc=⤳ rarrfs=⤞ rarrpl=⥅ rarrsim=⥴ rarrtl,rightarrowtail=↣ rarrw,rightsquigarrow=↝ ratail=⤚
ratio=∶ rbbrk=❳ rbrace,rcub=} rbrack,rsqb=] rbrke=⦌ rbrksld=⦎ rbrkslu=⦐ rcaron=ř rcedil=ŗ rcy=р
rdca=⤷ rdldhar=⥩ rdsh=↳ rect=▭ rfisht=⥽ rfr=\u{1d52f} rharul=⥬ rho=ρ rhov,varrho=ϱ
rightrightarrows,rrarr=⇉ rightthreetimes,rthree=⋌ ring=˚ rlm=\u200f rmoust,rmoustache=⎱ rnmid=⫮
roang=⟭ roarr=⇾ ropar=⦆ ropf=\u{1d563} roplus=⨮ rotimes=⨵ rpar=) rpargt=⦔ rppolint=⨒ rsaquo=›
rscr=\u{1d4c7} rtimes=⋊ rtri,triangleright=▹ rtriltri=⧎ ruluhar=⥨ rx=℞ sacute=ś scE=⪴
scap,succapprox=⪸ scaron=š scedil=ş scirc=ŝ scnE,succneqq=⪶ scnap,succnapprox=⪺ scnsim,succnsim=⋩
scpolint=⨓ scy=с sdot=⋅ sdote=⩦ seArr=⇘ sect=§ semi=; seswar,tosa=⤩ sext=✶ sfr=\u{1d530} sharp=♯
shchcy=щ shcy=ш shy=\u00ad sigma=σ sigmaf,sigmav,varsigma=ς simdot=⩪ simg=⪞ simgE=⪠ siml=⪝ simlE=⪟
simne=≆ simplus=⨤ simrarr=⥲ smashp=⨳ smeparsl=⧤ smile,ssmile=⌣ smt=⪪ smte=⪬ smtes=⪬\ufe00 softcy=ь
sol=/ solb=⧄ solbar=⌿ sopf=\u{1d564} spades,spadesuit=♠ sqcaps=⊓\ufe00 sqcups=⊔\ufe00
sscr=\u{1d4c8} star=☆ sub,subset=⊂ subE,subseteqq=⫅ subdot=⪽ subedot=⫃ submult=⫁
subnE,subsetneqq=⫋ subne,subsetneq=⊊ subplus=⪿ subrarr=⥹ subsim=⫇ subsub=⫕ subsup=⫓ sung=♪ sup1=¹
sup2=² sup3=³ supE,supseteqq=⫆ supdot=⪾ supdsub=⫘ supedot=⫄ suphsol=⟉ suphsub=⫗ suplarr=⥻
supmult=⫂ supnE,supsetneqq=⫌ supne,supsetneq=⊋ supplus=⫀ supsim=⫈ supsub=⫔ supsup=⫖ swArr=⇙
swnwar=⤪ szlig=ß target=⌖ tau=τ tcaron=ť tcedil=ţ tcy=т telrec=⌕ tfr=\u{1d531} theta=θ
thetasym,thetav,vartheta=ϑ thorn=þ times=× timesbar=⨱ timesd=⨰ topbot=⌶ topcir=⫱ topf=\u{1d565}
topfork=⫚ tprime=‴ triangle,utri=▵ triangleq,trie=≜ tridot=◬ triminus=⨺ triplus=⨹ trisb=⧍
tritime=⨻ trpezium=⏢ tscr=\u{1d4c9} tscy=ц tshcy=ћ tstrok=ŧ uHar=⥣ uacute=ú ubrcy=ў ubreve=ŭ
ucirc=û ucy=у udblac=ű ufisht=⥾ ufr=\u{1d532} ugrave=ù uhblk=▀ ulcorn,ulcorner=⌜ ulcrop=⌏ ultri=◸
umacr=ū uogon=ų uopf=\u{1d566} upsi,upsilon=υ upuparrows,uuarr=⇈ urcorn,urcorner=⌝ urcrop=⌎
uring=ů urtri=◹ uscr=\u{1d4ca} utdot=⋰ utilde=ũ uuml=ü uwangle=⦧ vBar=⫨ vBarv=⫩ vangrt=⦜
varsubsetneq,vsubne=⊊\ufe00 varsubsetneqq,vsubnE=⫋\ufe00 varsupsetneq,vsupne=⊋\ufe00
varsupsetneqq,vsupnE=⫌\ufe00 vcy=в veebar=⊻ veeeq=≚ vellip=⋮ vfr=\u{1d533} vopf=\u{1d567}
vscr=\u{1d4cb} vzigzag=⦚ wcirc=ŵ wedbar=⩟ wedgeq=≙ weierp,wp=℘ wfr=\u{1d534} wopf=\u{1d568}
wscr=\u{1d4cc} xfr=\u{1d535} xi=ξ xnis=⋻ xopf=\u{1d569} xscr=\u{1d4cd} yacute=ý yacy=я ycirc=ŷ
ycy=ы yen=¥ yfr=\u{1d536} yicy=ї yopf=\u{1d56a} yscr=\u{1d4ce} yucy=ю yuml=ÿ zacute=ź zcaron=ž
zcy=з zdot=ż zeta=ζ zfr=\u{1d537} zhcy=ж zigrarr=⇝ zopf=\u{1d56b} zscr=\u{1d4cf} zwj=\u200d
zwnj=\u200c`;

/** @type {Map<string, string>} */
export const CHARACTERS = new Map([["NewLine", "\n"]]);

for (const entry of NAMES.slice(1).split(/[ \n]/)) {
  const at = entry.indexOf("=");
  for (const name of entry.slice(0, at).split(",")) CHARACTERS.set(name, entry.slice(at + 1));
}
