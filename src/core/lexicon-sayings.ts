/**
 * Sayings whose words mislead when they are read one by one, in the notation of lexicon-phrases.ts. What
 * weighs nothing is listed so that its words do not weigh either.
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
