// The two public files of every tree (FORMAT §2, appendix A): constant bytes that explain the
// repository to humans, and name the store for programs. Nothing in them is trusted except the
// store id, which the keyring confirms.

import { equalBytes, type Sealed, utf8, utf8Text } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import { formatId, parseId } from './id.ts'

const FORMAT = 'gitlocket-store/1'
/** In the layouts before it. */
const UNRELEASED: ReadonlySet<unknown> = new Set([1, 'gitlocket/1'])

export const readmeFile: Sealed = publicBytes(`# gitlocket store

This repository is the memory of AI agents, encrypted and signed. Without a key it
shows only opaque names, sizes and the number of changes.

Do not edit, merge or rebase it with git: gitlocket refuses changes that it did not
sign. \`git clone\`, \`git fetch\`, \`git fsck\` and \`git verify-commit\` are safe, as they
change nothing in it. If another person made this directory, clone it before you use
git in it: git runs programs that the configuration of a repository names.

To read it: https://gitlocket.dev
`)

export function storeFile(storeId: string): Sealed {
  return publicBytes(`{"format":"${FORMAT}","store":"${formatId('store', storeId)}"}\n`)
}

/**
 * The store id, in hex. Throws `upgrade_required` for another format, and `not_a_store` unless the
 * bytes are exactly those of `storeFile`.
 */
export function parseStoreFile(bytes: Uint8Array): string {
  const { format, store } = parseObject(bytes)
  if (UNRELEASED.has(format)) throw unreleasedError()
  if ((typeof format === 'number' || typeof format === 'string') && format !== FORMAT) {
    throw new StoreError('upgrade_required', 'The store has a format of a newer release')
  }
  const storeId = findStoreId(store)
  if (storeId === undefined || !equalBytes(bytes, storeFile(storeId))) throw notAStore()
  return storeId
}

export function newerRelease(what = 'a part of this store'): StoreError {
  return new StoreError('upgrade_required', `A newer release wrote ${what}`)
}

/** For the layouts from before format 1 was frozen. */
function unreleasedError(): StoreError {
  return new StoreError(
    'upgrade_required',
    'The store has a layout from before format 1 was frozen: `export` its memories with the ' +
      'version that made it, and `import` them into a new store',
  )
}

/** For text that depends on no memory and no key. */
function publicBytes(text: string): Sealed {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- public by the format
  return utf8(text) as Sealed
}

function parseObject(bytes: Uint8Array): { readonly format?: unknown; readonly store?: unknown } {
  try {
    const value: unknown = JSON.parse(utf8Text(bytes))
    if (typeof value === 'object' && value !== null) return value
  } catch {
    // Invalid JSON is handled like JSON of another shape.
  }
  throw notAStore()
}

function findStoreId(text: unknown): string | undefined {
  try {
    return typeof text === 'string' ? parseId('store', text) : undefined
  } catch {
    return undefined
  }
}

function notAStore(): StoreError {
  return new StoreError('not_a_store', 'The file store.json is not that of a gitlocket store')
}
