import type { Sentiment } from './sentiment.ts'

export const INTENTS = [
  'question',
  'recommendation_request',
  'complaint',
  'promotion',
  'praise',
  'discussion',
] as const
export type IntentTag = (typeof INTENTS)[number]

/** What the rules look at; texts normalised. `title` is empty for a comment. */
export type Said = { title: string; body: string; sentiment: Sentiment }

type Rule = { tag: IntentTag; points: number; cue: RegExp; where: 'title' | 'all' }

const rule = (
  tag: IntentTag,
  points: number,
  cue: RegExp,
  where: 'title' | 'all' = 'all',
): Rule => ({
  tag,
  points,
  cue,
  where,
})

// Cues without nested repetition, so that no text can make them slow. Every rule counts once.
const RULES: readonly Rule[] = [
  rule(
    'promotion',
    3,
    /\b(?:(?:use|with) (?:my |the |this )?(?:promo |discount |referral |coupon )?code\b|promo code|discount code|coupon code|referral (?:link|code)|affiliate link|link in (?:my )?bio|\d+ ?% off|limited[- ]time|free trial|free shipping|early[- ]bird|pre-?order|for hire\b|black friday deal|giveaway|dm me (?:for|if|to)|join (?:our|my) (?:discord|newsletter|waitlist|community)|subscribe to (?:my|our)|sign up (?:here|now|for (?:our|my))|check out (?:my|our)|visit (?:my|our) (?:site|website|shop|store)|my (?:etsy|patreon|onlyfans|substack|youtube channel|gumroad))/,
  ),
  rule(
    'promotion',
    2,
    /\b(?:i(?:'ve| have)? (?:just )?(?:built|made|created|launched|released|developed|published)|we(?:'ve| have)? (?:just )?(?:built|launched|released|created|made|shipped)|we're (?:launching|building|hiring)|we are (?:launching|hiring)|i'm (?:launching|building|selling)|now (?:available|live|on sale)|just (?:launched|released|shipped)|introducing|announcing|my (?:new|latest|first) (?:app|tool|book|video|course|product|startup|saas|side project|game|album|song|blog post)|feedback (?:is )?(?:welcome|appreciated)|would love (?:your|some) feedback|our (?:new|latest) (?:app|tool|product|release|platform))\b/,
  ),
  rule(
    'promotion',
    2,
    /^(?:\[(?:ad|promo|for hire|hiring|fs|wts|selling)\]|show (?:hn|r):)/,
    'title',
  ),
  rule(
    'recommendation_request',
    4,
    /\b(?:(?:any|some|your|need|want|looking for|seeking|give me|open to) (?:good |other |app |book |product )?(?:recommendations?|suggestions?|recs)|(?:can|could|would|does|do) (?:anyone|anybody|someone|you|you guys|y'all|any of you) (?:please )?(?:recommend|suggest)|(?:recommend|suggest) me|what (?:would|do|can|should) (?:you|you guys|y'all|people|everyone) (?:recommend|suggest)|recommendations? (?:for|on|needed|wanted|please)|suggestions? (?:for|needed|wanted|please)|(?:any )?alternatives? (?:to|for)\b.{0,80}\?)/,
  ),
  rule(
    'recommendation_request',
    3,
    /\b(?:what(?:'s| is| are| would be) (?:the |your |some )?(?:best|favorite|favourite|go-to|good|better|cheapest|most reliable)|which .{1,60} (?:should i|do you (?:use|prefer|like)|is (?:best|better)|would you)|what .{1,40} should i (?:buy|get|use|choose|pick|try|read|watch)|should i (?:get|buy|choose|go (?:with|for)|pick|use)|what (?:tools?|apps?|software|library|framework|service|laptop|phone|book|brand)s? (?:do|are|is|would) (?:you|everyone|people|y'all)|(?:i'm|i am|we're|we are)? ?(?:looking|searching|hunting) for (?:a|an|some|something|any|the best|good|alternatives?)|in (?:the )?market for|is there (?:a|an|any) (?:good|better|decent|cheap|free|open[- ]source)? ?(?:tool|app|way|service|alternative|library|program|website|site|book)|best .{1,50} (?:for|to|under)\b|anyone (?:tried|used|using|have experience with))/,
  ),
  rule('question', 3, /\?\s*$/, 'title'),
  rule(
    'question',
    2,
    /^(?:\[?(?:question|help|noob question|newbie question|q)\]?:? |how|what|why|when|where|who|whose|which|is|are|am|can|could|should|would|will|do|does|did|has|have|anyone|anybody)\b/,
    'title',
  ),
  rule('question', 2, /\?(?:\s|$)/),
  rule(
    'question',
    2,
    /\b(?:does (?:anyone|anybody|someone) know|(?:anyone|anybody) (?:know|knows|else)|how (?:do|can|would|should|could|did) (?:i|you|we|one)|how to\b.{1,80}\?|what (?:does|do|is|are|did)\b.{1,80}\?|can (?:someone|anyone|somebody) (?:explain|help|tell)|is (?:it|there|this|that)\b.{1,80}\?|i(?:'m| am) (?:wondering|curious|confused about)|i was wondering|please help|need (?:some )?help|help me|any (?:ideas?|idea how|tips|advice|pointers)|eli5|thanks in advance|what am i (?:doing wrong|missing))/,
  ),
  rule(
    'complaint',
    3,
    /\b(?:fed up|sick (?:and tired )?of|tired of|rip-?off|ripped off|scam(?:med)?\b|waste of (?:time|money)|want (?:a |my )?(?:refund|money back)|never (?:again|buying|using)|stay away from|worst .{1,40} ever|unacceptable|what a joke|is a joke|ridiculous(?:ly)?|i(?:'m| am) (?:so )?(?:done with|angry|furious|frustrated|disappointed|annoyed)|(?:terrible|awful|horrible|poor|bad) (?:customer )?(?:service|support|experience|quality)|rant\b|i hate\b|cancel(?:l?ed|ling)? my (?:subscription|account|order))/,
  ),
  rule(
    'complaint',
    2,
    /\b(?:(?:doesn't|does not|don't|didn't|won't|isn't|not|never|no longer|stopped) (?:even )?work(?:s|ing)?|keeps? (?:crashing|failing|freezing|breaking|disconnecting|lagging)|(?:is|it's|was|are|got|been) (?:so |completely |totally |still |always )?(?:broken|buggy|unusable|useless|down again|overpriced|slow|laggy)|why (?:is|are|does|do|can't|won't) .{0,60} (?:so (?:bad|slow|hard|buggy|expensive)|still (?:broken|not))|no (?:response|reply|answer) from|ignored (?:me|my)|problems? with|issues? with|lost (?:all )?my|charged me|overcharged|disappoint(?:ed|ing|ment))/,
  ),
  rule(
    'praise',
    3,
    /\b(?:(?:i|we) (?:really |absolutely |just |fucking )?(?:love|adore)\b|shout-?out to|kudos|hats off|props to|thank you (?:so much|to|for)|huge thanks|big thanks|many thanks to|(?:highly|strongly|definitely|100%) recommend|can(?:'t|not) recommend .{0,30}enough|(?:works|worked|working) (?:great|perfectly|flawlessly|wonderfully|like a charm|beautifully)|best .{1,40} (?:ever|i've (?:ever )?(?:used|had|seen|tried)|i have ever)|game[- ]?changer|life-?saver|blew me away|blown away|well done|(?:amazing|great|awesome|fantastic|excellent|incredible|brilliant|nice|good) (?:job|work|product|service|support|experience|app|tool)|so (?:happy|impressed|grateful|glad) (?:with|by|for|that|i)|impressed (?:with|by)|worth every penny)/,
  ),
]

const ENOUGH = 2
// A text is mostly what its first part is.
const CHARS_MAX = 4000
// When two say the same amount, the narrower wins.
const ORDER: readonly IntentTag[] = [
  'promotion',
  'recommendation_request',
  'complaint',
  'question',
  'praise',
]

/** What an item is for, by rules: the tag with the most points, discussion when none has enough. */
export function intentOf({ title, body, sentiment }: Said): IntentTag {
  const all = `${title}\n${body.slice(0, CHARS_MAX)}`
  const points = new Map<IntentTag, number>(ORDER.map((it) => [it, 0]))
  const add = (tag: IntentTag, more: number) => points.set(tag, (points.get(tag) ?? 0) + more)
  for (const { tag, points: more, cue, where } of RULES)
    if (cue.test(where === 'title' ? title : all)) add(tag, more)
  // A recommendation is asked for in a question: what shows the one speaks for the other.
  const asked = points.get('recommendation_request') ?? 0
  if (asked >= ENOUGH) add('recommendation_request', points.get('question') ?? 0)
  // One mild word is a mood; a strong one, or several, say what the text is for.
  if (sentiment.polarity <= -0.3) add('complaint', sentiment.polarity <= -0.7 ? 3 : 1)
  if (sentiment.polarity >= 0.3) add('praise', sentiment.polarity >= 0.7 ? 3 : 1)
  const best = ORDER.reduce((a, b) => ((points.get(b) ?? 0) > (points.get(a) ?? 0) ? b : a))
  return (points.get(best) ?? 0) >= ENOUGH ? best : 'discussion'
}
