import { TextDecoder } from 'node:util'
import { gunzipSync } from 'node:zlib'

import { once } from '../../core/base/lazy.ts'
import { fail, ok, type Outcome } from '../../core/base/result.ts'

// Loaded with the first document: a start does not need it.
const entities = once((): typeof import('entities/decode') => require('entities/decode'))

/** Bytes of a document, unpacked. */
const BYTES_MAX = 5 * 1024 * 1024

const HEAD = 1024
const DECLARED = /<\?xml[^>]{0,200}?encoding\s{0,8}=\s{0,8}["']?([\w.:-]{1,40})/i
const CHARSET = /charset\s{0,8}=\s{0,8}["']?([\w.:-]{1,40})/i
const ESCAPES = ['\x1b$B', '\x1b$@', '\x1b(J']
/** Characters that XML does not allow, and those that no page shows. */
const CONTROL = /[^\P{Cc}\t\n\r]|[\ufffe\uffff]/gu

/** Without control characters. */
export const withoutControls = (text: string): string => text.replace(CONTROL, '')

/** References of HTML decoded; unknown ones and those without a semicolon stay text. */
export const decoded = (text: string): string =>
  text.includes('&') ? withoutControls(entities().decodeHTMLStrict(text)) : text

const isGzip = ([first, second]: Uint8Array): boolean => first === 0x1f && second === 0x8b

/** A decoder by a label as browsers take it; null for one that cannot be of an XML document. */
function decoderOf(label: string | undefined): TextDecoder | null {
  if (label === undefined || /^(?:utf-?16|ucs-?2|unicode\b|x-user-defined)/i.test(label))
    return null
  try {
    return new TextDecoder(label)
  } catch {
    return null
  }
}

/** UTF-16 by its byte order mark, or by the zeros beside the first characters. */
function wideLabel([a, b, c, d]: Uint8Array): 'utf-16le' | 'utf-16be' | null {
  if (a === 0xff && b === 0xfe) return 'utf-16le'
  if (a === 0xfe && b === 0xff) return 'utf-16be'
  if (a !== 0 && b === 0 && c !== 0 && d === 0) return 'utf-16le'
  return a === 0 && b !== 0 && c === 0 && d !== 0 ? 'utf-16be' : null
}

/** UTF-8 with at most a few bytes that are wrong, as where a writer cut a text by bytes; null: it is something else. */
function asUtf8(bytes: Uint8Array): string | null {
  const text = new TextDecoder().decode(bytes)
  if (!text.includes('\ufffd')) return text
  const wrong = text.match(/\ufffd/g)?.length ?? 0
  const beyond_ascii = text.match(/[^\0-\x7f\ufffd]/g)?.length ?? 0
  return beyond_ascii > 0 && wrong * 10 <= beyond_ascii ? text : null
}

function textOf(bytes: Uint8Array, content_type: string | null): string {
  const wide = wideLabel(bytes)
  if (wide !== null) return new TextDecoder(wide).decode(bytes)
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (ESCAPES.some((it) => buffer.includes(it)) && bytes.every((it) => it < 0x80))
    return new TextDecoder('iso-2022-jp').decode(bytes)
  // What is valid UTF-8 is nothing else, whatever the document or the header says.
  const utf8 = asUtf8(bytes)
  if (utf8 !== null) return utf8
  const labels = [
    DECLARED.exec(buffer.toString('latin1', 0, HEAD))?.[1],
    CHARSET.exec(content_type ?? '')?.[1],
  ]
  const decoder = labels.map(decoderOf).find((it) => it !== null && it?.encoding !== 'utf-8')
  return (decoder ?? new TextDecoder('windows-1252')).decode(bytes)
}

/** Text of a document, without control characters and without what stands before its first one. */
export function decodeDocument(bytes: Uint8Array, content_type: string | null): Outcome<string> {
  if (bytes.byteLength > BYTES_MAX) return fail({ kind: 'unreadable', path: 'too_large' })
  let plain = bytes
  if (isGzip(bytes))
    try {
      plain = gunzipSync(bytes, { maxOutputLength: BYTES_MAX })
    } catch (error) {
      const is_large = error instanceof RangeError
      return fail({ kind: 'unreadable', path: is_large ? 'too_large' : 'encoding' })
    }
  return ok(withoutControls(textOf(plain, content_type)).replace(/^[\s\ufeff]+/, ''))
}
