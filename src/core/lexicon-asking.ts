import type { Cue } from './lexicon-cues.ts'

// What people ask others to name.
const LOOKED_FOR = `
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

/** Cues of those who want to know something, or what to choose. */
export const ASKING: readonly Cue[] = [
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
      know|knows of [a|an|any|some] [good|decent|similar|free] ${LOOKED_FOR}
      anyone|anybody|someone know|knows [of] [a|any|some] * ${LOOKED_FOR}
      looking|searching|hunting for [a|an|some|any|something|the] * ${LOOKED_FOR}
      in the market for
      is|are there [a|an|any|some] * ${LOOKED_FOR}
      any [good|interesting|cool|decent|nice|similar|other|free] * ${LOOKED_FOR}
      what|which ${LOOKED_FOR} do|should|would|are|is|did|i|to
      what|which are|is [some|a|your|the] [recent|good|best|favorite|favourite|great|go-to|must-read] ${LOOKED_FOR}
      need [a|an|some|new|good] * ${LOOKED_FOR}
      parts list
      good|best|great ${LOOKED_FOR} for|to|under
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
