import { once } from '../../base/lazy.ts'
import type { TokenisedText } from '../tokenizer.ts'
import { CUES } from './cues.ts'
import { phrasesByStart, SAYINGS, type Starts } from './phrases.ts'

// Negative words. Base forms: plurals, -ed, -ing and -ly are derived.

/** Strong blame: two points each. */
const DISGUST = `
  abhor abhorrent abominable abomination abuse abusive abysmal agony appalled appalling asinine
  atrocious awful awfully bullshit catastrophe catastrophic clusterfuck crap cruel cunt
  dehumanizing deplorable despicable despise detest detestable devastated devastating dire
  disaster disastrous disgust disgusted disgusting dreadful dumbass dumpster-fire enraged
  excruciating fiasco furious garbage ghastly godawful grotesque hate hateful hatred hell
  hellish hideous horrendous horrible horribly horrid horrific horrified horrifying inedible
  infuriated infuriating insufferable laughable livid loathe loathing miserably moronic
  nauseating nightmare nightmarish outrageous pathetic pissed predatory putrid repulsive
  revolting rip-off ripoff scam scammed scammer scum shambles shithole shitshow shitty sickening
  suck sucked sucks sucky terrible terribly terrified terrifying toxic trainwreck travesty
  unbearable unforgivable vile vomit worst
`

/** Plain blame: one point each. */
const DISLIKE = `
  abandoned absurd ache aching aggravate aggravating alarming amateurish angry annoy annoyance
  annoyed annoying anxiety anxious apathetic arrogant asshat asshole awkward backfire bad badly
  baffled baffling bastard bearish bitch bizarre bland bloat bloated blunder blurry bogus bore
  bored boredom boring bother bothersome bricked broken buggy bulky bummer burdensome burnout
  careless cash-grab chaotic cheaply cheat cheated cheater cheesy cliche clickbait clown
  clueless clumsy clunkier clunky clutter cluttered complicated condescending confusing
  confusion congested contrived convoluted corny counterproductive crackly crappy crash creaky
  cringe cringey cringy cripple crude crummy cumbersome cynical deceive deceptive defective
  deficient degrade degraded delusional depressed depressing derivative desperate dick dickhead
  dimwit disapointed disapointing disappoint disappointed disappointing disappointment
  disapprove discomfort discourage discouraged discouraging disgrace disgraceful disgracefully
  dishonest dislike dismal dismiss disorganized disoriented disrespect disrespectful disruptive
  dissapointed dissapointing dissatisfied distasteful distracting distress distressing distrust
  disturb disturbing douche douchebag douchey downside drawback dread dreary dull dumb
  dysfunctional embarrass embarrassed embarrassing ew eww excessive exhausted exhausting
  expensive eyesore fabricated fail failed failing failure fake fatigue faulty feeble filthy
  flaky flavorless flavourless flaw flawed flimsy flop foolish forgetful forgettable frustrate
  frustrated frustrating frustration fuss garbled gimmick gimmicky glitch glitchy gloomy greasy
  greed greedy gripe gross grouchy grumpy gullible gutless half-assed half-baked hardship harsh
  hassle headache heartbreaking heartbroken helpless hollow hopeless humorless humourless
  hurtful hypocrisy hypocrite hypocritical idiocy idiot idiotic ignorant ill-fitting imbecile
  implausible impractical inaccurate inadequate inappropriate incapable incoherent incompatible
  incompetent incomprehensible inconsistent inconvenience inconvenient incorrect ineffective
  inefficient inept ineptitude inferior inflexible infuriate insensitive insincere insipid
  insult insulting intolerable intrusive irrational irresponsible irritate irritated irritating
  irritation jackass jittery junk lacking lackluster laggy lame laughably lazy leaky liar
  lifeless loser lousy low-quality ludicrous madhouse malfunction manipulative mediocre meh mess
  messed messier messy miserable mishandle misinformation mislead misleading mistrust money-grab
  monotonous moron muffled nasty nitpick nonsense nonsensical nuisance obnoxious offended
  offensive outdated outrage overcomplicated overcooked overhyped overkill overlong overpriced
  overrated pain painful patronizing peeve pessimistic petty phony pointless poor poorly
  poorly-made preachy predictable prejudice pretentious pricey prick problematic pushy
  questionable racist rage rancid rant reckless recoil regret regrettable repetitive resent
  resentment ridiculous rigid rough rubbery rubbish rude ruin ruined sad sadder sadly sadness
  scratchy screwed scumbag selfish severe shaky shallow shame shameful shit shoddy shortage
  shortcoming sketchy sleazy sloppy slow slower slowest sluggish smelly smh smug snag snarky
  snobby so-so soggy sorrow spammy spineless spite stale stank staticky stereotypical stigma
  stingy stink stinker stupid stupidity stutter subpar tacky tasteless tedious tepid thoughtless
  tinny tiresome tiring trash trashy troublesome twat ugh ugly unacceptable unappetizing
  unattractive unclear uncomfortable unconvincing uncooperative undercooked undermine
  underpowered underwhelm underwhelmed underwhelming undesirable uneasy unethical unfair
  unfinished unfortunate unfortunately unfriendly unfunny unhappy unhealthy unhelpful
  unimaginative unimpressed unimpressive uninspired uninspiring uninteresting unintuitive unjust
  unlistenable unlucky unnatural unnecessary unplayable unpleasant unpolished unprofessional
  unreadable unrealistic unreasonable unreliable unremarkable unresolved unresponsive unsafe
  unsatisfactory unsatisfied unsettling unskippable unstable unsupported unusable unwatchable
  unwelcome upset upsetting useless vague vapid vicious waste wasted wasteful weak weaker
  weakness weird whine wobbly wooden worrying worse worsen worthless wreck wrong yawn yikes yuck
`

/** Unwelcome facts, not judgements: half a point each. */
const TROUBLE = `
  abrupt afraid aggressive alarm alienate aloof ambiguous apologize argue argument ashamed
  average ban bankrupt bankruptcy banned barrier beg bias biased bitter blame bleak brag break
  breakage breaking broke bug burden chaos clash collapse complain complaint complicate concern
  concerned condemn confuse confused contradict contradiction controversial corrupt corrupted
  corruption costly coward crack craving creepy crisis criticism criticize cursed damage danger
  dangerous dated dead deadlock decline defect delay delayed denied dent deny deprive destroy
  deteriorate died dies dilemma dirty disadvantage disagree disappear discard disconnect
  discriminate dispute disregard disrupt disruption distort distract downtime drag drain dying
  error evil exaggerate exploit expose false fault fear fees fierce flicker forced fragile fraud
  freak freeze frozen grief grim grind guilt guilty hang harass harassment harm harmful haunt
  hazard hesitant hinder hostile hurt ignore ignored illegal illogical impatient impossible
  incomplete inflated injury injustice insane insecure interfere interrupt invalid issue jealous
  jerk lack lag leak lie limitation limiting lonely lose losing loss lost lying malicious
  malware manipulate missing mistake misunderstand misunderstanding mock mourn nag needless
  negative neglect nervous noisy nope obscure obsolete obstacle offend ominous outage outdate
  overheat overload overlooked overwhelm overwhelmed overwhelming panic paranoid penalty plague
  poison pressure problem prohibit propaganda punish quarrel radicalize redundant refund refuse
  regress regression reject rejected rejection reluctant restrict restrictive risk risky
  sabotage scandal scarce scare scared scary shout sick sinister skeptical slander sour spam
  stalled stolen stress stressed stressful struggle stubborn stuck suffer suffering suspicion
  suspicious tension theft thief threat threaten threatening tired torn tragedy tragic trap
  trauma traumatic trouble troubled unable unavailable unaware uncertain unexpected unfit
  unpopular unwanted victim violate violation violent virus vulnerability vulnerable warn
  warning wary worried worry
`

// Positive words. Base forms: plurals, -ed, -ing and -ly are derived.

/** Strong praise: two points each. */
const DELIGHT = `
  adorbs adore amazing astonishing astounding awesome beautiful best bewitching blissful bravo
  breathtaking brilliant bussin dazzling delighted delightful divine ecstatic elated epic
  excellent exceptional exemplary exquisite extraordinary fabulous fantastic faultless flawless
  game-changer game-changing gem genius glorious goated godsend gorgeous grateful heavenly
  hooray hyped impeccable incredible jaw-dropping kudos legend legendary life-saver lifesaver
  love lovely magical magnificent majestic marvellous marvelous masterful masterpiece
  mesmerising mind-blowing miraculous outstanding overjoyed peerless perfect perfection
  phenomenal priceless remarkable sensational spectacular splendid stellar stoked stunning
  sublime superb superbly superior superlative supreme terrific thrilled top-notch treasure
  triumph unbeatable unforgettable unmatched unparalleled unrivaled unrivalled wonderful
  wondrous woohoo world-class wow yay
`

/** Plain praise: one point each. */
const LIKING = `
  acclaimed accommodating addictive admirable admire adorable affordable agreeable alluring
  amused amusing appealing appetizing applaud appreciate appreciation appreciative approachable
  attentive attractive bargain beloved blazing-fast bless blessed blessing blissfully calming
  captivating caring chad charm charming cheerful cherish classy clever comfortable comfy
  commend commendable compassionate compelling competent compliment congrats congratulate
  congratulations congratz considerate convenience convenient convincing cool cosy courteous
  cozy crisp crispy crowd-pleaser cuddly cute cutie decent delicate delicious delightfully
  delish dependable desirable diligent dope easy elegance elegant eloquent enchanting
  encouraging endearing engaging enjoy enjoyable enjoyment enlightening entertain entertaining
  enthusiasm enthusiastic excited excitement exciting exhilarating fascinate fascinating
  flavorful flavourful fluffy fond fondest fortunate fulfilling fun funny generous gentle
  gigachad glad good graceful gracious gratitude great greatest greatly gripping groundbreaking
  haha hahaha hahahaha handsome handy happier happiest happiness happy harmless harmonious
  harmony healthy heartening heartfelt heartwarming hearty helped helpful high-quality hilarious
  honor honored hooked hospitable humorous hurray hygienic hype ideal imaginative immaculate
  immersive impress impressed impressive ingenious insightful inspiration inspirational inspire
  inspiring intelligent intriguing intuitive invaluable inventive invigorating inviting jolly
  joy joyful joyous juicy kindness knowledgeable legit likable likeable liked lovable luckily
  luxurious meaningful memorable mesmerizing motivating mouth-watering mouthwatering must-have
  must-read must-see must-watch neat neatly nice nicely nicer nicest nifty noteworthy nourishing
  painless passionate pleasant pleased pleasing pleasure plentiful poignant polite praise
  precious prestigious promising proud proudly prowess purrfect rave reassuring recommend
  recommended recommending refreshing refreshingly rejoice reliability reliable responsive
  rewarding riveting rocked roomy satisfaction satisfied satisfy satisfying seamless seamlessly
  sincere slaps sleek slick smart smarter smiling smooth smoother snappy snug snuggly solid
  solved soothing soulful sparkling speedy spotless sturdy stylish superfast suspenseful sweet
  talented tasteful tasty tempting thankful thought-provoking thoughtful thoughtfully touching
  tranquil trustworthy truthful tuneful upbeat uplifting uproarious useful user-friendly vibrant
  well-acted well-built well-designed well-documented well-made well-written wholesome wisdom
  witty worthwhile worthy yippee youthful yum yummy zen
`

/** Welcome facts, not judgements: half a point each. */
const FAVOUR = `
  abundant accessible accomplish accomplishment accuracy accurate achieve achievement advantage
  advantageous agile agree ambitious approval approve apt assure assured authentic award awarded
  balanced beneficial benefit better bonus boost bright calm capable celebrate celebration
  champion cheer clear-cut comfort competitive comprehensive confidence confident consistent
  creative creativity daring dedicated deserve deserving durable eager ease easier easiest
  economical educational effective effectively efficiency efficient effortless empower
  empowering encourage energetic enhance enhanced enhancement enrich exclusive expertly fair
  faithful famous fancy fast faster fastest favor favorable favorite favourite feature-rich
  festive fine fit flexibility flexible flourish fresh friendly genuine gift glow hero honest
  honesty hopeful humble improve improved improvement innovation innovative instructive justice
  keen kindly laugh lightweight likes lively logical lol loyal luck lucky luxury maintainable
  mature merit modern motivated optimal optimism optimistic optimized organized original
  outperform passion patient peace peaceful polished popular positive positively powerful
  practical precise premium privilege productive productivity professional proficient profit
  profitable progress prominent prompt prosper quality quick quicker quickest quiet readable
  reasonable refined relief relieve relieved resilient resolved resourceful respect respectful
  reward rich robust romantic safe safety satisfactory savvy scalable secure sensible sharp
  shine simple simpler simplicity simplify skilled skillful smile stability stable steady
  straightforward streamlined strength strong stronger succeed success successful suitable sunny
  supportive surpass sustainable swift tender thrive tidy timeless timely transparent treat
  trendy trust trusted unique usable valid valuable valued versatile victory vivid warm warmth
  welcome welcoming win winner winning wins wise won
`

const list = (words: string): string[] => words.trim().split(/\s+/)

/** Weight of a word: 2 or 1 for praise, 0.5 for a welcome fact, negative for their opposites. */
export const WEIGHTS: ReadonlyMap<string, number> = new Map(
  (
    [
      [DELIGHT, 2],
      [LIKING, 1],
      [FAVOUR, 0.5],
      [DISGUST, -2],
      [DISLIKE, -1],
      [TROUBLE, -0.5],
    ] as const
  ).flatMap(([words, weight]) => list(words).map((it): [string, number] => [it, weight])),
)

/** Thanks are praise, but only a courtesy beside a question. */
const THANKS = list('thanks thank thx ty cheers appreciate appreciated tysm tyvm')

// Words that negate the words after them.
const NEGATORS = list(`
  not no never none nobody nothing neither nor without hardly barely scarcely rarely seldom zero cannot lacks
  lacking can't don't doesn't didn't isn't wasn't aren't weren't won't wouldn't couldn't shouldn't hasn't haven't
  hadn't ain't needn't mustn't cant dont doesnt didnt isnt wasnt arent werent wont wouldnt couldnt shouldnt hasnt
  havent hadnt aint
`)

const STRONGLY = list(`
  very really so extremely absolutely totally completely incredibly insanely super utterly highly hugely
  seriously deeply truly especially particularly remarkably exceptionally freaking fucking damn bloody way
  ridiculously unbelievably massively immensely thoroughly entirely such most
`)
const WEAKLY = list(`
  slightly somewhat fairly kinda sorta little bit mildly partly partially relatively moderately occasionally
  almost less
`)

// Neutral words that a negation skips.
const FILLERS = list(`
  a an the this that these those it its it's he she they we you i me my your his her their our be been being am is
  are was were do does did have has had to of in on at for with as any very really so too that's all even think
  thought say said seem seems find found feel feels look looks exactly quite particularly ever get got
`)

// Marks and words that end a clause.
const ENDS = ['\n', ...list('. ! ? ; : , but however although though yet despite because unless')]

const GOOD_SIGNS = [
  ...Array.from('😀😃😄😁😊🙂😍🥰😘🤩🥳😎👍👏🙌💪🎉❤💯🔥✨🏆😂🤣😻💕💖💙💚💜🥹🤗😆😇👌'),
  ':)',
  ':-)',
]
const BAD_SIGNS = [...Array.from('😞😟😠😡🤬😢😤😩😫😖🙁☹👎💔🤮🤢😱🙄💩😒😔🤦'), ':(', ':-(']

/** Goods and places: praise or blame next to one is an opinion of it. */
const WARES = list(`
  product service quality price support update upgrade app software website site game movie film show series
  episode album song book phone battery headset charger case screen camera laptop computer device printer
  restaurant food meal dish menu staff waiter waitress server bartender place hotel room store shop delivery
  order package shipping seller company customer experience value performance design feature version release
  acting actor actress cast plot script story soundtrack director characters music dessert steak sushi pizza
  burger chicken salad sandwich sauce soup breakfast lunch dinner buffet bar drinks coffee reception sound
  headphones speaker keyboard mouse driver tool library framework documentation tutorial course subscription
  account bluetooth item model brand car bike airline flight bank plan carrier network writing art
`)

/**
 * Properties of a token. All but the phrases are looked up for every word of every item, hence a
 * single entry.
 */
export type LexiconEntry = {
  word: string
  weight: number
  /** Factor for the next word; 1 for most. */
  degree: number
  negates: boolean
  filler: boolean
  ends: boolean
  thanks: boolean
  ware: boolean
  phrase: Starts<number> | null
  cue: Starts<number> | null
}

/** Lexicon with all word forms. Built with the first item: it takes milliseconds. */
const vocabulary = once((): ReadonlyMap<string, LexiconEntry> => {
  const entries = new Map<string, LexiconEntry>()
  const entry = (word: string): LexiconEntry => {
    const existing = entries.get(word)
    if (existing !== undefined) return existing
    const base = { word, weight: 0, degree: 1, negates: false, filler: false, ends: false }
    const whole = { ...base, thanks: false, ware: false, phrase: null, cue: null }
    entries.set(word, whole)
    return whole
  }
  for (const [word, weight] of WEIGHTS) entry(word).weight = weight
  for (const [word, weight] of WEIGHTS)
    for (const form of formsOf(word, weight)) if (!WEIGHTS.has(form)) entry(form).weight = weight
  for (const sign of GOOD_SIGNS) entry(sign).weight = 1
  for (const sign of BAD_SIGNS) entry(sign).weight = -1
  for (const word of THANKS) Object.assign(entry(word), { weight: 1, thanks: true })
  // "Exceptionally bad" is no praise: an adverb of degree only weighs the next word.
  for (const word of STRONGLY) Object.assign(entry(word), { weight: 0, degree: 1.5 })
  for (const word of WEAKLY) Object.assign(entry(word), { weight: 0, degree: 0.5 })
  for (const word of NEGATORS) Object.assign(entry(word), { weight: 0, negates: true })
  for (const word of FILLERS) entry(word).filler = true
  for (const mark of ENDS) entry(mark).ends = true
  for (const ware of WARES) for (const word of [ware, `${ware}s`]) entry(word).ware = true
  const sayings = SAYINGS.flatMap(([weight, phrases]) => linesOf(phrases, weight))
  for (const [word, starts] of phrasesByStart(sayings)) entry(word).phrase = starts
  const cues = CUES.flatMap(({ phrases }, at) => linesOf(phrases, at))
  for (const [word, starts] of phrasesByStart(cues)) entry(word).cue = starts
  return entries
})

/** Entries of all tokens; undefined for a neutral word. */
export function entriesOf({ words }: TokenisedText): (LexiconEntry | undefined)[] {
  const entries = vocabulary()
  return words.map(
    (word) => entries.get(word) ?? (stretched(word) ? entries.get(shrunk(word)) : undefined),
  )
}

const linesOf = <T>(phrases: string, value: T): [string, T][] =>
  phrases.split('\n').map((line): [string, T] => [line.trim(), value])

// "Sooooo" counts as so.
const stretched = (word: string): boolean => word.length > 3 && /([a-z])\1\1/.test(word)
const shrunk = (word: string): string => word.replace(/([a-z])\1{2,}/g, '$1')

// Plural, past, -ing, -ly and possessive forms. An unused form does no harm.
function formsOf(word: string, weight: number): string[] {
  const last = word.at(-1) ?? ''
  const stem = last === 'e' || last === 'y' ? word.slice(0, -1) : word
  const adverb = last === 'y' ? `${stem}ily` : `${word}ly`
  // "Easily" and "wrongly" describe a manner and express no judgement.
  const always = [`${word}s`, `${word}'s`, ...(Math.abs(weight) < 1 ? [] : [adverb])]
  if (last === 'y') return [...always, `${stem}ies`, `${stem}ied`, `${word}ed`, `${word}ing`]
  if (last === 'e') return [...always, `${word}d`, `${stem}ing`]
  return [...always, `${word}es`, ...[word, word + last].flatMap((it) => [`${it}ed`, `${it}ing`])]
}
