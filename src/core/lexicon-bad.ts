// Words that speak ill of something. Base forms: plurals, -ed, -ing and -ly are made of them.

/** Strong blame: two points each. */
export const DISGUST = `
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
export const DISLIKE = `
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

/** Facts that nobody welcomes, and no judgement by themselves: half a point each. */
export const TROUBLE = `
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
