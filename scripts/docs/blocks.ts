/** A fenced block of a page: its language, the words behind that, and what stands in it. */
export type Block = { language: string; words: string[]; text: string }

/** Every fenced block of a page, in order; a block inside a list is not looked for. */
export const blocksOf = (page: string): Block[] =>
  [...page.matchAll(/^```(\w+)((?: [^\n]+)?)\n([\s\S]*?)^```$/gm)].map(
    ([, language = '', words = '', text = '']) => ({
      language,
      words: words.split(' ').filter(Boolean),
      text,
    }),
  )

/** What README has a newcomer type: to install and build it, and from there to an alert. */
export function newcomerOf(readme: string): { install: string; walk: string } {
  const typed = blocksOf(readme).filter(({ words }) => words.includes('newcomer'))
  const text = (wanted: boolean) =>
    typed
      .filter(({ words }) => words.includes('install') === wanted)
      .map((it) => it.text)
      .join('\n')
  return { install: text(true), walk: text(false) }
}
