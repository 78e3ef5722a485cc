/** What a stranger wrote, with nothing in it that colours a line, moves a cursor or turns a line around. */
export const plain = (text: string): string =>
  text.replace(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
