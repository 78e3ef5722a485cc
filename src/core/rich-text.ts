/** A document of rich text, as the platform's composer writes it: paragraphs of plain runs. */
export type RichText = { document: Paragraph[] }
type Paragraph = { e: 'par'; c: Run[] }
type Run = { e: 'text'; t: string }

/**
 * Plain text as a document: one paragraph a line, an empty one for an empty line. Nothing in the text is taken for
 * markup; white space at its end is left out.
 */
export const toRichText = (text: string): RichText => ({
  document: text
    .replace(/\r\n?/g, '\n')
    .trimEnd()
    .split('\n')
    .map((line) => ({ e: 'par', c: line === '' ? [] : [{ e: 'text', t: line }] })),
})
