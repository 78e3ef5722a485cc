/** A file in a form: with a name, or the platform takes it for no file at all. */
export type FilePart = { field: string; name: string; type: string; bytes: Uint8Array }

/** A form with one file behind its fields, as bytes and with what to call it. The boundary must stand in none of it. */
export function multipart(
  fields: readonly (readonly [string, string])[],
  file: FilePart,
  boundary: string,
): { type: string; bytes: Uint8Array<ArrayBuffer> } {
  const parts = fields.map(([name, value]) => `${head(boundary, name)}\r\n\r\n${value}\r\n`)
  const opened = `${head(boundary, file.field)}; filename="${quoted(file.name)}"\r\ncontent-type: ${file.type}\r\n\r\n`
  const bytes = Buffer.concat([
    Buffer.from(parts.join('') + opened),
    file.bytes,
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ])
  return { type: `multipart/form-data; boundary=${boundary}`, bytes: new Uint8Array(bytes) }
}

const head = (boundary: string, name: string): string =>
  `--${boundary}\r\ncontent-disposition: form-data; name="${quoted(name)}"`

/** As browsers write names. */
const quoted = (name: string): string =>
  name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
