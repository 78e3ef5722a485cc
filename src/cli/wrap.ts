/**
 * Text in lines of at most `width` characters, broken between words; a word that is longer has a line of its own.
 * Given as a list, each part of it is held together.
 */
export function wrap(text: string | readonly string[], width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of typeof text === 'string' ? text.split(' ') : text) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}
