// Nested and adjacent repeats, bombs of repeats, empty loops, lookaround and references, and what is no pattern at all.
const WRITTEN = String.raw`
(a+)+$ (a*)*$ (a|a)*$ (a|aa)+$ (.*)*$ (.+)+$ ([a-z]+)*$ (a+){2,}$ (a?){100}a{100}
(x+x+)+y (x*)*y (x+)*y (?:x+)+y ((x+)+)+y (((x*)*)*)*y (x{1,50}){1,10}y (xx?)*y
^(([a-z])+.)+[A-Z]([a-z])+$ ^(a+)+b+c+d+$ (\w+\s?)*$ (\d+\w?)*x (\s*\w*)*$ (\S+\s+)*\S+$
.*.*.*.*.*x .*a.*a.*a.*a.*b [a-z]*[a-z]*[a-z]*[a-z]*\d a*a*a*a*a*a*a*a*b (a.*){12}x (.*a){20}
[a-z]{1,500}\d (a{1,30}){1,30} ((a{1,10}){1,10}){1,10} (a{0,1000}) a{1000} (a{100}){100}
((((((a{1,2}){1,2}){1,2}){1,2}){1,2}){1,2}) (a{1000}){1000} x{999}y{999}
(?i)(k+)+$ (?i)[a-zß]{1,400}1 \pL{1,400}\d [^a]{1,400}a [\p{Greek}\p{Han}]{300} (?s).{1,450}z
(()()()()())* (|a|b|c)*d (?:){1000} (a||b)*c \b\b\b\b(a\b?)+$ ^^^^(a^?)+$ ($a|a$)*b
(?=a+)+ (a)\1+ (?<!a)b (?>a+)b (?P<n>a+)+(?P=n) ( \
`

/** Sixty patterns that hang, or fill the memory of, one engine or another. */
export const EVIL_REGEXES: readonly string[] = [
  ...WRITTEN.trim().split(/\s+/),
  '['.repeat(50),
  `${'('.repeat(100)}a${')'.repeat(100)}`,
]

/** Texts that make such patterns try every path: long runs that fail at their end. */
export const evilTexts = (length: number): readonly string[] =>
  ['a', 'x', 'ab ', 'aA1 ß'].map((unit) => `${unit.repeat(length / unit.length)}!`)
