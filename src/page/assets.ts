import type { BuiltFile } from './build.ts'
import { embeddedPage } from './embedded.ts'

type PageFile = { type: string; body: Uint8Array<ArrayBuffer> }

/** The dashboard as a browser loads it: its HTML document and the linked files by hashed name. */
export type DashboardFiles = { shell: string; files: ReadonlyMap<string, PageFile> }

/** Builds or unpacks the dashboard. Expensive and deterministic: call it once, on the first request. */
export async function pageFiles(): Promise<DashboardFiles> {
  const { shell, files } = await embeddedPage()
  return { shell, files: new Map(files.map(unpack)) }
}

const unpack = ({ name, type, text }: BuiltFile): [string, PageFile] => [
  name,
  { type, body: new TextEncoder().encode(text) },
]
