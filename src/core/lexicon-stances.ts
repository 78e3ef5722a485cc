import type { Cue } from './lexicon-cues.ts'

/** Cues of those who complain and of those who praise. */
export const STANCES: readonly Cue[] = [
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
