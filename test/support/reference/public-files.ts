// FORMAT §2 and appendix A: the two constant public files of a store.

import { utf8, utf8Text } from './bytes.ts'
import { formatId, parseId } from './identity.ts'
import { ensure, refuse } from './refusal.ts'

export const readmeFile: Uint8Array = utf8(`# gitlocket store

This repository is the memory of AI agents, encrypted and signed. Without a key it
shows only opaque names, sizes and the number of changes.

Do not edit, merge or rebase it with git: changes that gitlocket did not sign are
refused. \`git clone\`, \`git fetch\`, \`git fsck\` and \`git verify-commit\` are safe.

To read it: https://www.npmjs.com/package/gitlocket
`)

export function storeFile(storeId: string): Uint8Array {
  return utf8(`{"format":"gitlocket/1","store":"${formatId('store', storeId)}"}\n`)
}

/** The store id; else `not_a_store` or `upgrade_required`. */
export function parseStoreFile(bytes: Uint8Array): string {
  const text = utf8Text(bytes, 'not_a_store')
  const format = /^\{"format":(\d+|"gitlocket\/[^"]*"),/.exec(text)?.[1]
  ensure(format !== undefined, 'not_a_store', 'store.json is not a store’s')
  ensure(format === '"gitlocket/1"', 'upgrade_required', 'The store has another format')
  const id = /^\{"format":"gitlocket\/1","store":"(memstore_[^"]*)"\}\n$/.exec(text)?.[1]
  if (id === undefined) return refuse('not_a_store', 'store.json is not in its one form')
  try {
    return parseId('store', id)
  } catch {
    return refuse('not_a_store', 'store.json names no store')
  }
}
