/** A fenced block of a page: its language, its info string, and its text. */
export type Block = { language: string; words: string[]; text: string }

/** Every fenced block of a page, in order; blocks inside lists are ignored. */
export const blocksOf = (page: string): Block[] =>
  [...page.matchAll(/^```(\w+)((?: [^\n]+)?)\n([\s\S]*?)^```$/gm)].map(
    ([, language = '', words = '', text = '']) => ({
      language,
      words: words.split(' ').filter(Boolean),
      text,
    }),
  )

/** README's commands for a new user: those that install and build, and those that lead to an alert. */
export function newcomerOf(readme: string): { install: string; walk: string } {
  const typed = blocksOf(readme).filter(({ words }) => words.includes('newcomer'))
  const text = (wanted: boolean) =>
    typed
      .filter(({ words }) => words.includes('install') === wanted)
      .map((it) => it.text)
      .join('\n')
  return { install: text(true), walk: text(false) }
}
