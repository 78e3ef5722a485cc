import type { BuiltFile } from './build.ts'
import { madePage } from './made.ts'

type PageFile = { type: string; body: Uint8Array<ArrayBuffer> }

/** The dashboard as a browser loads it: its one document, and the files that it links, by their hashed names. */
export type PageFiles = { shell: string; files: ReadonlyMap<string, PageFile> }

/** Makes or unpacks the dashboard. It is work, and the same each time: call it once, when somebody asks for it. */
export async function pageFiles(): Promise<PageFiles> {
  const { shell, files } = await madePage()
  return { shell, files: new Map(files.map(unpack)) }
}

const unpack = ({ name, type, text }: BuiltFile): [string, PageFile] => [
  name,
  { type, body: new TextEncoder().encode(text) },
]
