/** Purpose of a post. */
export type Intent =
  'question' | 'complaint' | 'recommendation' | 'praise' | 'promotion' | 'show' | 'news'

/**
 * Sentences with slots: `{thing}`, `{another}` (a different thing), `{product}`, `{other}` (a
 * different one), `{goal}`, `{trouble}`, `{tip}`, `{n}` (2 to 19), `{price}`; `{a thing}` includes
 * its article.
 */
export type Phrases = {
  titles: readonly string[]
  openings: readonly string[]
  closings: readonly string[]
}

/** Phrases of posts, by purpose. */
export const POSTS: Record<Intent, Phrases> = {
  question: {
    titles: [
      'How do you {goal} without spending a fortune?',
      'Is {product} still worth it after all these years?',
      'Looking for {a thing} under {price}',
      'Beginner here: {thing} or {another} first?',
      'Can anyone recommend {a thing} that lasts?',
      'What is the best way to {goal}?',
      '{product} or {other}? I cannot decide',
      'What am I doing wrong with my {thing}?',
    ],
    openings: [
      'I have been at this for {n} months and I still do not know how to {goal}.',
      'I am looking for {a thing}. My budget is around {price}, used is fine.',
      'I have read the guides, but {trouble}, and no one mentions that.',
      'My old {thing} finally gave up. Before I buy the same again: what would you take today?',
      'Everybody names {product}, but the reviews I find are {n} years old.',
    ],
    closings: [
      'What would you do?',
      'Any recommendation is welcome, even if it is "do not bother".',
      'Happy to give more detail. Thanks in advance!',
      'Has anybody here tried both {product} and {other}?',
      'Is there an alternative to {product} that I am missing?',
    ],
  },
  complaint: {
    titles: [
      '{trouble}, and support does not answer',
      'Fed up with {product}',
      'Why does {product} need an account now?',
      '{product} doubled the price overnight',
      'The last update broke my {thing}',
      'Am I the only one whose {thing} never works twice?',
    ],
    openings: [
      'I paid {price} for this and {trouble}.',
      'Third ticket, third copy-and-paste answer from {product}. Meanwhile {trouble}.',
      'It worked for {n} months. Since the update {trouble}, and going back is not possible.',
      'All I want is to {goal}. How is that too much to ask?',
    ],
    closings: [
      'I am done. What did you switch to?',
      'Rant over.',
      'If someone from {product} reads this: please, just fix it.',
      'Has anyone got a refund out of them?',
    ],
  },
  recommendation: {
    titles: [
      'After {n} years I found {a thing} that just works',
      'PSA: {tip}',
      'Ditched {product} for {other}, no regrets',
      'The one thing that helped me to {goal}',
      'If {trouble}, try this',
    ],
    openings: [
      '{tip}. It took me {n} years to learn that.',
      'I tried {product}, {other} and a home-made one. The cheap one won.',
      'For everybody who wants to {goal}: start with {a thing}, leave the rest for later.',
      'I had the same trouble as many here: {trouble}. What fixed it was embarrassingly simple.',
    ],
    closings: [
      'Hope it saves someone a weekend.',
      'Parts came to {price} in total.',
      'Ask me anything, I have nothing to sell.',
      'Full notes are [on my page](https://notes.example.org/how-to).',
    ],
  },
  praise: {
    titles: [
      '{product} replaced my {thing} and I am not going back',
      'Credit where it is due: {product} support is great',
      'I did not expect to like {product} this much',
      '{n} years with the same {thing}, still happy',
    ],
    openings: [
      'I wrote to {product} on a Sunday and had a spare part on Wednesday. Free.',
      'I only wanted to {goal}. It does that, and quietly.',
      'Not a single fault in {n} months, which I cannot say of {other}.',
    ],
    closings: ['That is all. Good things deserve a post too.', 'Best {price} I spent this year.'],
  },
  promotion: {
    titles: [
      'I built a small tool to {goal}',
      '{product} 2.{n} is out: what is new',
      'Show and tell: I made {a thing} from scrap',
      'We are {product}, ask us anything',
      '20 % off at {product} this week',
    ],
    openings: [
      'For the last {n} months I have been writing something that helps to {goal}. It is free and open source.',
      'Full disclosure: I work for {product}. We heard that {trouble}, so we fixed it.',
      'We made {a thing} for people who are tired of {other}. First batch is {n} pieces.',
    ],
    closings: [
      'Feedback is very welcome, especially the unkind sort.',
      'Code and download: [example.net/tool](https://www.example.net/tool).',
      'Use the code HELLO for free shipping.',
    ],
  },
  show: {
    titles: [
      'My {thing} after {n} months',
      'Finished: {thing}',
      'Before and after: {thing} & {another}',
      'First {thing}, be gentle',
      'It is not much, but it is my {thing}',
    ],
    openings: [
      'Took {n} evenings and {price}.',
      'The hardest part: {trouble}.',
      'Inspired by a post here last winter. {tip}, they said, and they were right.',
    ],
    closings: [
      'Questions welcome.',
      'Next: {another}.',
      'Thanks to everybody who answered my last post.',
    ],
  },
  news: {
    titles: [
      '{product} announces new {thing}',
      '{product} confirms: {trouble}',
      'Report: {a thing} could help to {goal}',
      '{thing}: what we know so far',
      '{product} sues {other} over {thing}',
    ],
    openings: [
      'From the article: {product} promises to {goal} within {n} months.',
      'Critics point out that {trouble}.',
    ],
    closings: ['Source in the link.', 'An update is expected next week.'],
  },
}

/** Phrases of replies. */
export const REPLIES: readonly string[] = [
  'Same here. {trouble}, and it has been like that for {n} months.',
  'I would try {product} first. Not perfect, but it let me {goal}.',
  '{tip}. Seriously.',
  'Have you tried {a thing}? Around {price} used.',
  'I went from {product} to {other} and never looked back.',
  'Strong disagree. {product} is fine if you set it up properly.',
  'This. So much this.',
  'Could you say more about the {thing}? Which model is it?',
  'For what it is worth, mine is {n} years old and still going.',
  'Avoid {product}. They call it "expected behaviour" that {trouble}.',
  'Thank you, that fixed it!',
  'What worked for me: {tip}. Then wait {n} days.',
  'If the goal is to {goal}, {a thing} is overkill.',
  'Nice work! How did you handle it when {another} got in the way?',
  'Not sure why this is voted down, it is right.',
  'I asked the same {n} months ago and the answer was: it depends.',
  'Do you have a link? I only find {other}.',
  'We make one of those at {product}, happy to send you a sample.',
  'Source?',
  'Came here to say that. 👍',
  'Unpopular opinion: {another} matters more than {thing}.',
  '> {tip}\n\nThis should be at the top.',
  'I measured it: with {product} it is < {n} %, with {other} it is > {n} %.',
  'Saved for later. I want to {goal} too.',
]
