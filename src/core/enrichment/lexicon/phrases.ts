/**
 * Phrase matching by first word. Notation: `a|b` is either word, `[a]` is optional, `*` is up to
 * five words within the sentence.
 */

type Part = { words: ReadonlySet<string>; optional: boolean } | 'gap'
type Phrase<T> = { parts: readonly Part[]; value: T }

/** Phrases that begin with one word, by their possible second word. */
export type Starts<T> = { second: Map<string, Phrase<T>[]>; any: Phrase<T>[] }

/** Phrase that was found, and its length in tokens. */
export type Found<T> = { value: T; length: number }

const GAP_MAX = 5
const SENTENCE_ENDS = new Set(['.', '!', '?', '\n'])

/** Indexes phrases and their values by first word. */
export function phrasesByStart<T>(phrases: Iterable<readonly [string, T]>): Map<string, Starts<T>> {
  const starts = new Map<string, Starts<T>>()
  for (const [phrase, value] of phrases) {
    const [first = '', ...rest] = phrase.split(' ')
    const parts = rest.map(partOf)
    const seconds = secondsOf(parts)
    for (const word of first.split('|')) {
      const by_start = starts.get(word) ?? { second: new Map<string, Phrase<T>[]>(), any: [] }
      starts.set(word, by_start)
      if (seconds === null) by_start.any.push({ parts, value })
      for (const second of seconds ?? []) {
        const others = by_start.second.get(second)
        if (others === undefined) by_start.second.set(second, [{ parts, value }])
        else others.push({ parts, value })
      }
    }
  }
  return starts
}

/** Longest phrase at the token `at`, whose `starts` are given; null if there is none. */
export function longest<T>(
  { second, any }: Starts<T>,
  words: readonly string[],
  at: number,
): Found<T> | null {
  let found: Found<T> | null = null
  for (const phrases of [second.get(words[at + 1] ?? ''), any])
    for (const { parts, value } of phrases ?? []) {
      const end = endOf(parts, 0, words, at + 1)
      if (end !== null && (found === null || end - at > found.length))
        found = { value, length: end - at }
    }
  return found
}

function partOf(part: string): Part {
  if (part === '*') return 'gap'
  const optional = part.startsWith('[')
  return { words: new Set((optional ? part.slice(1, -1) : part).split('|')), optional }
}

// Possible second words; null if there is none or it may be any word.
function secondsOf(parts: readonly Part[]): Set<string> | null {
  const words = new Set<string>()
  for (const part of parts) {
    if (part === 'gap') return null
    for (const word of part.words) words.add(word)
    if (!part.optional) return words
  }
  return null
}

function endOf(
  parts: readonly Part[],
  next: number,
  words: readonly string[],
  at: number,
): number | null {
  const part = parts[next]
  if (part === undefined) return at
  if (part === 'gap') {
    for (let skipped = 0; skipped <= GAP_MAX; skipped++) {
      const end = endOf(parts, next + 1, words, at + skipped)
      if (end !== null) return end
      if (SENTENCE_ENDS.has(words[at + skipped] ?? '.')) return null
    }
    return null
  }
  const end = part.words.has(words[at] ?? '') ? endOf(parts, next + 1, words, at + 1) : null
  return end === null && part.optional ? endOf(parts, next + 1, words, at) : end
}

/**
 * Phrases whose single words mislead, in the notation above. A weight of 0 cancels the weight of
 * their words.
 */
export const SAYINGS: readonly (readonly [weight: number, phrases: string])[] = [
  [
    2,
    `can't|cannot|can * recommend|thank|praise [it|this|them|you|him|her] [highly] enough
    couldn't|could be happier|better
    works|worked|working like a charm|dream
    worth every penny
    second to none
    blown away
    blew me|us away
    in love with
    out of this world
    10|ten out of 10|ten
    10 10
    5|five|4|four stars
    to die for
    above and beyond
    chef's kiss
    best * ever
    one of the best|greatest|finest
    made my day|morning|week|year|night`,
  ],
  [
    1,
    `can't|cannot complain|wait
    can't|cannot go wrong
    can't|cannot beat [it|this|that|the]
    worth it|seeing|watching|reading|trying|buying|playing|checking|visiting|having
    well done|made|written|acted|crafted|worth
    hats off
    thumbs up
    shout out
    no|never brainer
    i|we like|liked
    i|we really|actually|quite|rather like|liked
    did|do like
    looking forward to
    free of charge
    big|huge fan|fans of
    will|would|i'll|we'll [definitely] be back
    definitely|certainly|absolutely go|going|come|coming back
    must see|have|watch|read|play
    bug fix|fixes
    no complaints|issues|problems|trouble|bugs|lag [at] [all]
    without|never [any] [large|major|real] issues|problems|trouble
    on point
    hits|hit the spot
    good|great|fair play to
    kept|holding|held up [very|really] well
    stands|stood|stand out
    never bored|disappoints|disappointed
    rest in peace
    good job|work
    my|our|an [all] [time] favorite|favourite
    all time favorite|favourite
    all-time favorite|favourite
    bless this|him|her|them|you|his|their
    god bless
    rock solid
    a|the charm`,
  ],
  [
    -2,
    `fed up
    sick [and] [tired] of
    a|complete|total|huge|big|such waste of
    waste of time|money|space
    waste [your|my|our] time|money
    rip off
    ripped off
    stay|stayed away
    steer clear
    last straw
    fuck|fck|screw this|that|them|you|him|her|off|these|those|the
    go to hell
    pain in the ass|neck
    fell|falls|fall|falling apart
    not|isn't|wasn't|ain't worth [it|the|your|my|a|this|two] [time|money|price|trouble|hours]
    piece of junk|crap|garbage|shit|trash
    1|one|zero|0|no star|stars
    1|2|one|two|zero out of 10|ten|5|five`,
  ],
  [
    -1,
    `let|lets|letting down
    let me|us|you down
    tired of
    gave|give|gives up
    thumbs down
    red flag|flags
    a|the joke
    too bad
    had enough
    no longer works|work
    won't|doesn't|didn't|don't|can't|cannot|wouldn't|couldn't [even] hold|fit|charge|stay|last|connect|load|install|start|open|respond|pair|sync|boot|turn
    had|have to return|replace|restart|reinstall
    broke|died|failed|stopped|quit after|within
    save your|my money
    skip it|this
    nothing special|impressive
    no taste|flavor|flavour|excuse
    not|isn't|wasn't impressed|impressive
    so so
    down the drain
    doesn't|don't|didn't|won't|stopped|stops|not|never|isn't|wasn't [even|really] work|working|worked
    does|did|do|will|would not [even|really] work|working
    no use|good|fan|chemistry|plot|sense
    no real plot|story|value|point
    makes|make|made no sense
    doesn't|don't|didn't|not make [any] sense
    leaves|left [a] lot|much to be desired
    at|on best
    could|should have been [much|so|a] [lot] better
    could be [much|so|a] [lot] better
    paid|costs|cost|charge|charged too much
    too much money
    blew up
    never again
    won't|wouldn't|not|never be|go|going|come|coming|return|returning back|again|here|there
    wouldn't|won't|not return
    not|wouldn't|cannot|can't|don't|never recommend
    not the best|greatest
    not|isn't|doesn't|don't look|looks|feel|feels|seem|seems right
    don't|do not bother|buy|waste
    for no reason
    get a life
    on the nerves
    gets|got|getting worse
    going|gone|went down hill
    going|gone|went downhill
    was hoping for more
    expected [much|so|a] [lot] better|more
    any and all costs
    a mess
    better than this|that
    get me started on
    the worst`,
  ],
  [
    0,
    `no problem|worries|offense|offence|prob|doubt|wonder|matter|question|surprise
    no need
    not only|just|sure|necessarily
    not to mention
    without [a] doubt|question
    error|bug message|messages|handling|report|reports|code|codes
    free trial
    pretty much
    good luck|morning|evening|night|afternoon|day
    good|great|any|more|much better|worse than
    better than nothing
    best|better|right|good|easiest|fastest|simplest way|practice|practices
    thanks|thank [you] [so] [much] in advance
    thanks|thank [you] for reading|any|looking|help|helping
    please help
    would|will|d [really|greatly|highly] appreciate
    is|be|are|would|super|very|much|greatly|really|not [super|very|much|greatly|highly] appreciated|welcome
    appreciated|welcome but|or
    any|some|your|all help|feedback|advice|input|suggestions [is|are|would] [be] [greatly|much|super|very|highly] appreciated|welcome
    feedback [super|very|always] welcome
    would|i'd love|like to|some|your|any|if
    would be [nice|great|cool|good|awesome|helpful|interesting] to|if
    love to see|hear|know
    top of
    make|making|made sure
    holy shit|hell|crap|cow|smokes
    no|oh shit
    breaking news
    as|so far as
    sick leave|days|day
    best of luck
    break|dinner|living room
    hard drive|disk|mode
    fine print|art|arts
    dead|drop line|lines
    what|how the hell|fuck
    the hell|fuck
    a|good|great|fair bit|deal|amount|number|chunk
    best|worst case
    best buy|seller|regards
    kind regards
    real time|life|estate|quick
    lost and found
    at least
    last resort
    bad|good guys
    resident evil
    friendly|gentle reminder
    user friendly`,
  ],
]
