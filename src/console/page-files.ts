// The files of the page, which are read once: a request names one of them, never one of the disk.

import { readdirSync, readFileSync } from 'node:fs'
import { StoreError } from '../errors.ts'

export interface PageFile {
  readonly type: string
  readonly body: Uint8Array<ArrayBuffer>
}

export interface PageFiles {
  /** The page itself, in which `{{nonce}}` stands for one. */
  readonly page: string
  /** By the path of their address, such as `/assets/main-5f3a.js`. */
  readonly files: ReadonlyMap<string, PageFile>
}

const types: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

const PAGE = 'index.html'

/** Throws `not_found` if the directory, which ends in a slash, has no page. */
export function readPageFiles(directory: URL): PageFiles {
  const files = new Map<string, PageFile>()
  try {
    for (const entry of readdirSync(directory, { recursive: true, encoding: 'utf8' })) {
      const name = entry.replaceAll('\\', '/')
      const type = types[name.slice(name.lastIndexOf('.') + 1)]
      if (type === undefined) continue
      files.set(`/${name}`, { type, body: new Uint8Array(readFileSync(new URL(name, directory))) })
    }
    return { page: readFileSync(new URL(PAGE, directory), 'utf8'), files }
  } catch (cause) {
    const message = 'The page of the console is not in this installation: build or install it anew'
    throw new StoreError('not_found', message, { cause })
  }
}
