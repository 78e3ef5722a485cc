/**
 * The words that sentiment listens for, as plain data. Base forms: plurals, -ed, -ing and -ly are
 * found by themselves. Left out on purpose: words that are as often neutral (like, well, mean, kind,
 * hard, miss, cheap, hot), since a false note costs more than a missed one.
 */
const list = (words: string): string[] => words.trim().split(/\s+/)

const PRAISE = list(`
  adore amazing astonishing astounding awesome beautiful best blissful brilliant breathtaking delighted
  delightful dazzling divine ecstatic elated epic excellent exceptional exquisite extraordinary fabulous
  fantastic faultless flawless game-changer game-changing gem genius glorious godsend gorgeous
  goated grateful heavenly incredible impeccable jaw-dropping legendary lifesaver life-saver
  love lovely magical magnificent marvelous marvellous masterpiece mind-blowing miraculous
  outstanding overjoyed perfect perfection phenomenal priceless remarkable sensational spectacular
  splendid stellar stunning sublime superb superior supreme terrific thrilled top-notch treasure
  triumph unbeatable unmatched unparalleled unrivaled unrivalled wonderful wondrous world-class
  wow yay hooray woohoo bravo kudos hyped stoked
`)

const LIKING = list(`
   abundant accessible acclaimed accomplish accomplishment accurate accuracy achieve achievement
  admirable admire adorable advantage advantageous affordable agile agree agreeable alluring
  ambitious amused amusing appealing appetizing applaud appreciate appreciation appreciative approachable
  approve approval apt assure assured attentive attractive authentic award awarded
  balanced bargain benefit beneficial better blazing-fast bless blessed blessing bonus boost bright calm
  calming capable captivating caring celebrate celebration champion charm charming cheer
  cheerful cherish clear-cut clever comfort comfortable comfy commend commendable compassionate
  compelling competent competitive compliment comprehensive confident confidence congrats
  congratulate congratulations considerate consistent convenient convenience convincing cool courteous
  cozy cosy creative creativity crisp cute
  daring decent dedicated delicious delicate dependable deserve deserving desirable diligent durable
  eager ease easier easiest easy economical educational effective effectively efficient efficiency effortless
  elegant elegance empower empowering enchanting encourage encouraging endearing energetic engaging enjoy
  enjoyable enjoyment enhance enhanced enhancement enlightening enrich enthusiastic enthusiasm
  entertaining entertain excited exciting excitement exclusive expertly exhilarating
  fair faithful famous fancy fascinate fascinating fast faster fastest favor favorable favorite favourite
  feature-rich festive fine fit flexible flexibility flourish fond fortunate fresh friendly fulfilling fun
  funny
  generous gentle genuine gift glad glow good graceful gracious gratitude great greatly
  greatest groundbreaking
  handsome handy happiness happy happier happiest harmless harmonious harmony healthy heartfelt hearty
  heartwarming helpful helped hero high-quality hilarious honest honesty honor honored hopeful humble humorous
  ideal imaginative immaculate immersive impress impressed impressive improve improved improvement
  ingenious innovation innovative insightful inspire inspiring inspiration inspirational instructive intelligent
  intriguing intuitive inviting invaluable invigorating inventive
  jolly joy joyful joyous justice keen kindness kindly knowledgeable
  laugh legit lightweight likable likeable likes liked lively logical lol loyal luck lucky luckily
  luxurious luxury
  maintainable mature meaningful memorable merit mesmerizing modern motivated motivating
  neat neatly nice nicely nicer nicest nifty noteworthy nourishing
  optimal optimism optimistic optimized organized original outperform
  painless passion passionate patient peace peaceful pleasant pleased pleasing pleasure plentiful
  plus polished polite popular positive positively powerful practical praise precious precise premium
  prestigious privilege productive productivity professional proficient profit profitable progress
  prominent promising prompt prosper proud proudly prowess
  quality quick quicker quickest quiet
  rave readable reasonable reassuring recommend recommended recommending refined refreshing rejoice reliable reliability
  relief relieve relieved resilient resolved resourceful respect respectful responsive reward rewarding rich
  robust romantic
  safe safety satisfaction satisfactory satisfied satisfy satisfying savvy scalable seamless secure
  sensible sharp shine simple simpler simplicity simplify sincere skilled skillful sleek slick smart
  smarter smile smiling smooth smoother snappy solid solved soothing sparkling speedy stable stability
  steady straightforward streamlined strength strong stronger stylish succeed success successful suitable
  sunny supportive surpass sustainable sweet swift
  talented tasty tempting tender thankful thank thanks thoughtful thoughtfully thrive tidy timely timeless
   touching tranquil transparent treat trendy trust trusted trustworthy truthful
  unique uplifting upbeat usable useful user-friendly
  valid valuable valued versatile vibrant victory vivid
  warm warmth welcome welcoming well-designed well-built well-documented well-made well-written wholesome
  win winner winning wins wisdom wise witty won worthwhile worthy youthful yummy zen
`)

const DISLIKE = list(`
  abandoned absurd abrupt ache aching afraid aggravate aggravating aggressive alarm alarming alienate
  aloof ambiguous angry annoy annoyance annoyed annoying anxious anxiety apathetic apologize argue argument
  arrogant ashamed awkward
  backfire baffled baffling bad badly ban banned bankrupt bankruptcy barrier bearish beg bias biased bitter
  bizarre blame bland bleak bloat bloated blunder blurry bogus boring bored boredom bother bothersome brag
  break breakage breaking broke bug buggy bulky burden burdensome burnout
  careless chaos chaotic cheat cheated cheater clash cliche clueless clumsy clunky clutter cluttered
  collapse complain complaint complicated complicate concern concerned condemn confuse confused confusing
  confusion congested contradict contradiction contrived controversial convoluted corrupt corrupted corruption
  costly counterproductive coward crack crappy crash craving creepy cringe cringey cringy cripple
  crisis criticize criticism crude cumbersome cursed cynical
  damage danger dangerous dated dead deadlock deceive decline defect defective deficient degrade degraded
  delay delayed deny denied dent depressed depressing deprive desperate destroy deteriorate
  dilemma dirty disadvantage disagree disappear disappoint disappointed disappointing disappointment
  disapprove discard discomfort disconnect discourage discouraged discouraging discriminate
  disgrace dishonest dislike dismal dismiss disorganized dispute disregard disrespect disrespectful
  disrupt disruption disruptive dissatisfied distasteful distort distract distracting distress distressing
  distrust disturb disturbing downside downtime drag drain drawback dread dreary dull dumb
  dysfunctional
  embarrass embarrassed embarrassing error evil exaggerate excessive exhausted exhausting expensive
  exploit expose
  fabricated fail failed failing failure fake false fatigue fault faulty fear feeble fees fierce filthy
  flaky flaw flawed flicker flop foolish forced forgetful fragile fraud freak freeze frozen frustrate
  frustrated frustrating frustration fuss
  garbled gimmick gimmicky glitch glitchy gloomy greed greedy grief grim grind gripe gross grouchy grumpy guilt
  guilty gullible
  half-assed half-baked hang harass harassment hardship harm harmful harsh hassle haunt hazard headache
  heartbreaking heartbroken helpless hesitant hinder hopeless hostile hurt hurtful hypocrite hypocrisy
  idiot idiotic ignorant ignore ignored illegal illogical impatient impossible impractical inaccurate inadequate
  inappropriate incapable incoherent incompatible incompetent incomplete inconsistent inconvenience inconvenient
  incorrect ineffective inefficient inferior inflated inflexible infuriate injury injustice insane insecure
  insensitive insincere insult insulting interfere interrupt intolerable intrusive invalid irrational irresponsible
  irritate irritated irritating irritation issue
  jealous jerk jittery junk
  lack lacking lackluster lag laggy lame lazy leak lie liar limitation limiting lonely lose loser losing loss
  lost lousy low-quality ludicrous lying
  malfunction malicious malware manipulate manipulative mediocre meh mess messed messy miserable
  mishandle mislead misleading misinformation missing mistake mistrust misunderstand misunderstanding mock
  monotonous moron mourn
  nag nasty needless negative neglect nervous nitpick noisy nonsense nope nuisance
  obnoxious obscure obsolete obstacle offend offended offensive ominous outage outdated outdate outrage
  overcomplicated overheat overload overlooked overpriced overrated overwhelm overwhelmed overwhelming overkill
  pain painful panic paranoid peeve penalty pessimistic petty phony plague pointless poison
  poor poorly prejudice pressure pretentious problem problematic prohibit propaganda punish
  quarrel questionable
  racist radicalize rage rant reckless recoil redundant refuse regress regression regret reject rejected rejection
  reluctant repetitive resent resentment restrict restrictive ridiculous rigid risk risky rough rubbish rude ruin
  ruined
  sabotage sad sadly sadder sadness scandal scare scared scary scarce screwed selfish severe shaky shallow shame
  shameful shoddy shortage shortcoming shout sick sinister skeptical sketchy slander sloppy slow slower slowest
  sluggish smelly smug snag snobby sorrow sour spam spammy spite stale stalled stigma stingy
  stolen stress stressed stressful struggle stubborn stuck stupid stutter subpar suffer suffering suspicious
  suspicion
  tacky tasteless tedious tension theft thief threat threaten threatening tired tiresome tiring torn tragedy
  tragic trap trash trauma traumatic trouble troubled troublesome
  ugly unable unacceptable unattractive unavailable unaware uncertain unclear uncomfortable unconvincing
  uncooperative undermine underwhelm underwhelmed underwhelming undesirable uneasy unethical unexpected
  unfair unfinished unfit unfortunate unfortunately unfriendly unhappy unhealthy unhelpful uninspired
  uninteresting unintuitive unjust unlucky unnecessary unpleasant unpolished unpopular
  unprofessional unreadable unrealistic unreasonable unreliable unresolved unresponsive unsafe unsatisfactory
  unsatisfied unsettling unstable unsupported unusable unwanted unwelcome upset upsetting useless
  vague vicious victim violate violation violent virus vulnerable vulnerability
  warn warning wary waste wasted wasteful weak weaker weakness weird whine worried worry worrying worse worsen
  worthless wreck wrong yikes
`)

const LOATHING = list(`
  abhorrent abominable abuse abusive abysmal agony appalled appalling atrocious awful awfully
  catastrophe catastrophic crap cruel dehumanizing deplorable despicable despise detest detestable devastated
  devastating dire disaster disastrous disgust disgusted disgusting dreadful dumpster-fire enraged
  excruciating fiasco furious garbage ghastly godawful grotesque hate hatred hateful hell hellish hideous
  horrendous horrible horribly horrid horrific horrified horrifying infuriated infuriating insufferable
  laughable livid loathe loathing miserably nauseating nightmare nightmarish outrageous
  pathetic pissed predatory repulsive revolting rip-off ripoff scam scammed scammer shit shitty
  shambles sickening suck sucked sucks sucky terrible terribly terrified terrifying toxic trainwreck
  travesty unbearable unforgivable vile vomit worst
`)

/** What a word adds: 2 for delight, -2 for disgust, 1 and -1 for the rest. */
export const WEIGHTS: ReadonlyMap<string, number> = new Map([
  ...LIKING.map((it): [string, number] => [it, 1]),
  ...PRAISE.map((it): [string, number] => [it, 2]),
  ...DISLIKE.map((it): [string, number] => [it, -1]),
  ...LOATHING.map((it): [string, number] => [it, -2]),
])

/** Words that turn what follows them around; so does everything that ends in n't. */
export const NEGATORS: ReadonlySet<string> = new Set(
  list(`
  not no never none nobody nothing neither nor without hardly barely scarcely rarely seldom zero cannot cant dont
  doesnt didnt isnt wasnt arent werent wont wouldnt couldnt shouldnt hasnt havent hadnt aint lacks
`),
)

/** Words after which a negation turns nothing around: not only, no doubt, no wonder. */
export const HARMLESS_AFTER_NEGATION: ReadonlySet<string> = new Set(
  list('only just doubt wonder matter'),
)

/** What the word before multiplies. */
export const DEGREES: ReadonlyMap<string, number> = new Map([
  ...list(`
    very really so extremely absolutely totally completely incredibly insanely super utterly highly hugely
    seriously deeply truly especially particularly remarkably exceptionally freaking fucking damn bloody way
    ridiculously unbelievably massively immensely thoroughly entirely
  `).map((it): [string, number] => [it, 1.5]),
  ...list(`
    slightly somewhat fairly kinda sorta little bit mildly partly partially relatively moderately occasionally
    almost
  `).map((it): [string, number] => [it, 0.5]),
])

/** Sayings whose words mislead when they are read one by one. */
export const IDIOMS: readonly (readonly [string, number])[] = [
  ["can't recommend enough", 2],
  ["can't recommend it enough", 2],
  ['cannot recommend enough', 2],
  ["can't thank you enough", 2],
  ["couldn't be happier", 2],
  ['could not be happier', 2],
  ["can't complain", 1],
  ["can't go wrong", 1],
  ["can't wait", 1],
  ['works like a charm', 2],
  ['worth it', 1],
  ['worth every penny', 2],
  ['well done', 1],
  ['hats off', 1],
  ['thumbs up', 1],
  ['shout out', 1],
  ['second to none', 2],
  ['blown away', 2],
  ['no brainer', 1],
  ['no problem', 0],
  ['no worries', 0],
  ['no offense', 0],
  ['in love with', 2],
  ['i like', 1],
  ['really like', 1],
  ['looking forward to', 1],
  ['free of charge', 1],
  ['not worth it', -1],
  ['fed up', -2],
  ['sick of', -2],
  ['tired of', -1],
  ['waste of time', -2],
  ['waste of money', -2],
  ['rip off', -2],
  ['ripped off', -2],
  ['let down', -1],
  ['fell apart', -1],
  ['falls apart', -1],
  ['gave up', -1],
  ['give up', -1],
  ['thumbs down', -1],
  ['stay away', -2],
  ['steer clear', -2],
  ['red flag', -1],
  ['red flags', -1],
  ['last straw', -2],
  ['a joke', -1],
  ['too bad', -1],
  ['had enough', -1],
  ['no longer works', -1],
  ['stopped working', -1],
  ["doesn't work", -1],
  ["didn't work", -1],
  ["don't work", -1],
  ['does not work', -1],
  ['did not work', -1],
  ['not working', -1],
  ["isn't working", -1],
  ["won't work", -1],
  ['no use', -1],
  ['no good', -1],
  ['error message', 0],
  ['error handling', 0],
  ['bug report', 0],
  ['bug fix', 1],
  ['bug fixes', 1],
  ['free trial', 0],
  ['pretty much', 0],
  ['good luck', 0],
  ['thanks in advance', 0],
  ['please help', 0],
  ['top of', 0],
  ['good evening', 0],
  ['good morning', 0],
  ['better than', 0],
  ['make sure', 0],
]

/** Signs that speak for themselves. */
export const SIGNS: ReadonlyMap<string, number> = new Map([
  ...Array.from('😀😃😄😁😊🙂😍🥰😘🤩🥳😎👍👏🙌💪🎉❤💯🔥✨🏆😂🤣').map((it): [string, number] => [
    it,
    1,
  ]),
  ...Array.from('😞😟😠😡🤬😢😭😤😩😫😖🙁☹👎💔🤮🤢😱🙄💩').map((it): [string, number] => [it, -1]),
])
