/** Intents of an item. */
export const INTENTS = [
  'question',
  'recommendation_request',
  'complaint',
  'promotion',
  'praise',
  'discussion',
] as const

export type IntentTag = (typeof INTENTS)[number]

// Nouns of recommendation requests.
const SOUGHT_NOUNS = `
  library libraries framework frameworks module modules package packages tool tools app apps
  software program programs service services alternative alternatives laptop phone book books
  movie movies show shows series game games song songs site website websites course courses
  tutorial tutorials resource resources materials guide guides tutor coach doctor dentist
  mechanic lawyer restaurant restaurants place places hotel bar camera headphones keyboard mouse
  monitor chair bike car brand brands plugin plugins extension editor host hosting provider bank
  card build builds deck decks projects podcast podcasts anime manga recipe recipes gift gifts
  source sources shoes jacket backpack plan vpn
`
  .trim()
  .split(/\s+/)
  .join('|')
const PEOPLE = "anyone|anybody|someone|somebody|everyone|y'all|people|you|guys|folks"

/** Cues of questions and recommendation requests. */
const REQUEST_CUES: readonly Cue[] = [
  {
    tag: 'recommendation_request',
    points: 4,
    where: 'all',
    phrases: `any|some|your|need|want|seeking [good|other|more] recommendations|recommendation|recs
      can|could|would|does|do|please ${PEOPLE} [please] recommend|suggest
      recommend|suggest me
      what|which would|do|can|should ${PEOPLE} [guys] recommend|suggest
      recommendations|suggestions for|needed|wanted|please
      any|some|your|have [good|other] suggestions|suggestion for|on|of|?
      know|knows of [a|an|any|some] [good|decent|similar|free] ${SOUGHT_NOUNS}
      anyone|anybody|someone know|knows [of] [a|any|some] * ${SOUGHT_NOUNS}
      looking|searching|hunting for [a|an|some|any|something|the] * ${SOUGHT_NOUNS}
      in the market for
      is|are there [a|an|any|some] * ${SOUGHT_NOUNS}
      any [good|interesting|cool|decent|nice|similar|other|free] * ${SOUGHT_NOUNS}
      what|which ${SOUGHT_NOUNS} do|should|would|are|is|did|i|to
      what|which are|is [some|a|your|the] [recent|good|best|favorite|favourite|great|go-to|must-read] ${SOUGHT_NOUNS}
      need [a|an|some|new|good] * ${SOUGHT_NOUNS}
      parts list
      good|best|great ${SOUGHT_NOUNS} for|to|under
      alternatives|alternative to`,
  },
  {
    tag: 'recommendation_request',
    points: 3,
    where: 'all',
    phrases: `what|what's|whats|which [is|are|would|be] the best|cheapest|safest
      what|what's|whats [is|are] your favorite|favourite|go-to
      which one|ones should|would|do|is|are
      which * should i
      which * best|better
      what * should i|we buy|get|use|choose|pick|try|read|watch|play|build
      should i buy|get|choose|pick|use|upgrade|switch|wait
      worth buying|getting|upgrading
      better to buy|get
      where * best|good place|places
      what do|does ${PEOPLE} [guys] use|drive|wear|play
      similar to|like this
      anyone tried|used
      some|a good ones|one for
      best|good way|place|places to learn|buy|eat|stay|visit`,
  },
  {
    tag: 'recommendation_request',
    points: 3,
    where: 'opening',
    phrases: `best * for|under|to
      [i'm|im|i|currently|still] [am] looking for a|an|some|something|suggestions|recommendations|good|cheap|new
      recommend|suggest`,
  },
  {
    tag: 'question',
    points: 3,
    where: 'all',
    phrases: `what|what's|whats [is|are|would|be] the best|easiest|right|proper way
      is there a|any way
      does|do|did|has|have|can|could anyone|anybody|someone|somebody
      anyone|anybody|someone know|knows|else|got|help
      can|could someone|anyone|somebody|you|one [please] explain|help|tell|give|identify|invite|share|show|please
      how do|does|did|can|would|should|could|is|are|was|i|to i|you|we|one|it|this|they|people|he|she|that|your|the
      how long|much|many|old|often|far do|does|did|is|are|will|would|should|can|to
      how old|long|big|tall is|are|do|have
      i'm|i|im|was|been|am [just] wondering|curious
      just curious|wondering
      what am i doing|missing
      what does|do|is|are|would|should|could|did * ?
      my question is
      i have|had|got a|some|one [quick|dumb|noob|simple] question|questions
      question about|regarding|on|for
      need|needed [some|your|any|a] help|advice|assistance
      help me|with
      please help
      any|some help|ideas|idea|tips|advice|pointers|input|inputs|thoughts|clue
      your inputs|thoughts|opinions|opinion|advice
      thanks in advance
      let me know how|what|why|whether
      looking for advice|feedback|help|tips|input|clarification
      tell me how|ways|what|why
      eli5
      could|can you tell|please
      what|who|where|when|why am|can|should i
      where|when|why|who|what do|does|did|is|are|was|were|can|could|would|should|will|has|have i|you|we|the|this|that|it|they|he|she|your|my
      why is|are|does|do|isn't|won't|doesn't|can't
      what are|is your|their|some
      what's up|with|the|your
      whats with|the|your
      not sure how|what|why|whether|which
      is|isn't it|this|that possible|normal|worth|true|safe|ok|okay|legal`,
  },
]

const THINGS = `
  app tool library module package cli api website site game bot extension plugin script
  framework engine course book ebook video series song album ep track channel podcast newsletter
  program project server map mod template theme guide tutorial service startup saas product
  dashboard editor client wrapper gem crate subforum community blog store shop kit repo
`
  .trim()
  .split(/\s+/)
  .join('|')

/** Cues of promotion: something to use, buy or join. */
const OFFERS: readonly Cue[] = [
  {
    tag: 'promotion',
    points: 3,
    where: 'all',
    phrases: `use|with [my|the|this|our] [promo|discount|referral|coupon|invite] code
      promo|discount|referral|coupon|affiliate code|link|codes|links
      link in [my|the] bio
      limited time offer|only|deal
      free shipping
      % off
      early bird
      for hire
      for sale
      trade link
      giving away
      dm|pm|message me for|if|to|with
      join our|my|us
      subscribe to my|our
      sign up here|now|for our|my|the
      visit my|our
      check out my|our [new|latest|first|xbox|twitch] ${THINGS}|github|page|profile|stream|music|content|work|art
      my etsy|patreon|onlyfans|substack|gumroad|soundcloud|bandcamp|twitch|youtube|tiktok
      i'll|will ship
      shipping included
      we offer
      offers|offering free|up
      tips not required
      going live
      stop by and
      now hiring
      we're|are hiring
      preorder|pre-order|preorders|pre-orders now|here|today|open|available`,
  },
  {
    tag: 'promotion',
    points: 3,
    where: 'all',
    phrases: `i|i've|we|we've|my [have] [just|finally|recently] built|made|created|launched|released|developed|published|wrote|coded|shipped|open-sourced a|an|my|our|this|the|some * ${THINGS}
      created|made|built|wrote|released|launched|published my|our * ${THINGS}
      my|our [very] new|latest|first|own|small|little [${THINGS}|python|side|publicly] [released] ${THINGS}
      we|i [just|finally] launched|released`,
  },
  {
    tag: 'promotion',
    points: 2,
    where: 'all',
    phrases: `feedback|critique|criticism [is] [super|very|always|much|more] [than] welcome|appreciated|desired
      would|i'd love [to] [receive|get|hear] [your|some|any] critique|feedback
      introducing|announcing
      now [finally] available|live|released
      is [finally|now|officially] available|live|released
      just|officially|finally launched|released|shipped
      registration [is] [now] open
      our|my [new|latest] ${THINGS}`,
  },
  {
    tag: 'promotion',
    points: 3,
    where: 'title',
    phrases: `is|are [finally|now|officially] out
      [now] [officially] released
      selling my|a|an|for|some
      a|an|my|the * library|module|package|cli|wrapper|toolkit|client|tool for|to|that|in
      helper|utility package|library|module|tool
      simple|small|fast|lightweight|tiny|minimal|new library|module|package|framework|tool|cli
      library for|to
      line interface for|to
      looking for|need one more
      need 1|one|2|two more
      who wants|wanna to|join
      recruiting
      ama`,
  },
]

/** Cues of complaint and praise. */
const STANCES: readonly Cue[] = [
  {
    tag: 'complaint',
    points: 3,
    where: 'all',
    phrases: `fed up
      sick [and] [tired] of
      tired of
      rip off|rip-off|ripoff
      ripped off
      scam|scammed|scammers
      waste of [my|your] time|money
      a|complete|total|huge|big|such|monumental waste of
      want|wants|for|give|get|getting [a|my] refund
      money back
      never again
      never|not|won't|wouldn't|don't [be] [ever] buy|buying|use|using|go|going|come|coming|return|returning|eat|eating|dine|dining|order|ordering [back|here|there|again|from|it|this]
      stay away
      steer clear
      the|my|was worst * ever
      worst * ever
      the|probably|easily worst
      1|one|zero star
      unacceptable|inexcusable|infuriating
      what a joke|disappointment|mess|waste|shame|letdown
      is|was|are a joke
      i'm|am|was|were|very|so|really|huge|big|such|a [so|very|really|much] angry|furious|frustrated|disappointed|annoyed|disappointment
      terrible|awful|horrible|poor|bad|worst|slow|rude|lousy|disgusting [customer|quality|food] service|support|experience|quality|food
      service|food|quality|support|product|app|it|phone|this|movie|film is|was|are [so|very|really|just|absolutely|extremely|pretty|simply|totally] bad|terrible|awful|horrible|poor|slow|rude|lousy|broken|useless|disgusting|bland|unusable|ridiculous|pathetic|garbage|trash|crap
      i|we hate
      cancelled|canceled|cancelling|canceling my
      don't|do not buy|waste|bother|recommend
      not|wouldn't|cannot|can't|never recommend
      not|isn't|wasn't worth
      piece of junk|crap|garbage|shit|trash
      thanks for ruining
      no stars|star
      leaves|left [a] lot to be desired
      overpriced|overrated`,
  },
  {
    tag: 'complaint',
    points: 2,
    where: 'all',
    phrases: `doesn't|don't|didn't|won't|stopped|not|never|longer|isn't [even|really|very] work|works|working|worked
      did|does|do not [even] work|works
      keeps|keep|kept crashing|failing|freezing|breaking|disconnecting|lagging|dying
      still|completely|totally|always|is|are|it's broken|buggy|unusable|useless|laggy|overpriced
      why is|are|does|do * so bad|slow|hard|buggy|expensive
      still not|broken
      no response|reply|answer from
      ignored me|my
      charged me
      overcharged
      disappointed|disappointing|disappointment
      pain in the ass
      what|so a pointless|stupid|ridiculous|terrible
      no need to be
      stop doing|making|using|posting|staging|asking|trying
`,
  },
  {
    tag: 'complaint',
    points: 2,
    where: 'opening',
    phrases: `stop
      avoid
      this is pathetic|ridiculous|bullshit|unacceptable|absurd|stupid|terrible|infuriating|outrageous
      you suck
      bring back
      enough of|with
      can we please|stop
      so many time|times
      please stop|fix`,
  },
  {
    tag: 'praise',
    points: 3,
    where: 'all',
    phrases: `i|we [really|absolutely|just|fucking|genuinely|still|completely] love|adore|loved|adored [this|it|the|that|how|your|these|his|her|their|my|them|him]
      shout out|outs to
      shout-out|shoutout to
      kudos
      hats off
      props to
      thank you|u so|very much
      thank you to|for
      thanks to the|all|everyone
      huge|big|many|massive thanks
      highly|strongly|definitely|totally|100 recommend|recommended
      can't|cannot recommend|thank * enough
      works|worked|working|works great|perfectly|flawlessly|wonderfully|beautifully|well|fine
      best * ever|i've|i
      one of the best
      game changer|changing
      game-changer|lifesaver|life-saver
      blown away
      blew me
      well done
      amazing|great|awesome|fantastic|excellent|incredible|brilliant|nice|good|outstanding|perfect job|work|product|service|support|experience|app|tool|response|advice|stuff|performance|showmanship|timing|show|film|movie|food|phone|idea|comment|deal|price|value|quality
      so|very|really|quite|pretty happy|impressed|grateful|glad|pleased with|by|for|that|i
      impressed with|by
      worth every penny
      made my day|morning|week
      is|are|was|he's|she's|you're|that's|it's|is|what [a|an] [absolute|true|god|damn|literal] legend|treasure|genius|master|hero|gem|masterpiece|goat|classic|gigachad
      brilliant|amazing|great|wonderful|incredible|true man|woman|guy|person|director|artist|human|being|master
      must see|watch|have|read
      fair play
      bless this|you|him|her|his
      appreciation post
      is|was|are|it's|that's|this|so|really|absolutely|pretty perfect|amazing|awesome|incredible|fantastic|wonderful|hilarious|delicious|outstanding|excellent|brilliant|gorgeous
      congrats|congratulations`,
  },
  {
    tag: 'praise',
    points: 2,
    where: 'opening',
    phrases: `thanks|thank|love|loved|awesome|amazing|beautiful|brilliant|excellent|fantastic|perfect|wonderful|great|nice|best`,
  },
]

/** Phrases that indicate an intent, in the notation of phrases.ts. A cue counts once per text. */
export type Cue = {
  tag: Exclude<IntentTag, 'discussion'>
  points: number
  /** Position at which a phrase begins: anywhere, in the title, or at the start of a sentence. */
  where: 'all' | 'title' | 'opening'
  phrases: string
}

/** All cues; at most 31, so that the counted ones fit into one bit set. */
export const CUES: readonly Cue[] = [...OFFERS, ...REQUEST_CUES, ...STANCES]
