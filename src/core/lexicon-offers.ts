import type { Cue } from './lexicon-cues.ts'

const THINGS = `
  app tool library module package cli api website site game bot extension plugin script
  framework engine course book ebook video series song album ep track channel podcast newsletter
  program project server map mod template theme guide tutorial service startup saas product
  dashboard editor client wrapper gem crate subforum community blog store shop kit repo
`
  .trim()
  .split(/\s+/)
  .join('|')

/** Cues of those who bring something to be used, bought or joined. */
export const OFFERS: readonly Cue[] = [
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
