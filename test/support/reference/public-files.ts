// FORMAT §2 and appendix A: the two constant public files of a store.

import { utf8, utf8Text } from './bytes.ts'
import { formatId, parseId } from './identity.ts'
import { ensure, refuse } from './refusal.ts'

export const readmeFile: Uint8Array = utf8(`# gitlocket store

This repository is the memory of AI agents, encrypted and signed. Without a key it
shows only opaque names, sizes and the number of changes.

Do not edit, merge or rebase it with git: gitlocket refuses changes that it did not
sign. \`git clone\`, \`git fetch\`, \`git fsck\` and \`git verify-commit\` are safe, as they
change nothing in it. If another person made this directory, clone it before you use
git in it: git runs programs that the configuration of a repository names.

To read it: https://gitlocket.dev
`)

export function storeFile(storeId: string): Uint8Array {
  return utf8(`{"format":"gitlocket-store/1","store":"${formatId('store', storeId)}"}\n`)
}

/** The store id; else `not_a_store` or `upgrade_required`. */
export function parseStoreFile(bytes: Uint8Array): string {
  const text = utf8Text(bytes, 'not_a_store')
  const id = /^\{"format":"gitlocket-store\/1","store":"(memstore_[^"]*)"\}\n$/.exec(text)?.[1]
  if (id !== undefined && isStoreId(id)) return parseId('store', id)
  const format = formatOf(text)
  const other = typeof format === 'number' || typeof format === 'string'
  ensure(
    !other || format === 'gitlocket-store/1',
    'upgrade_required',
    'The store has another format',
  )
  return refuse('not_a_store', 'store.json is not in its one form')
}

function isStoreId(text: string): boolean {
  try {
    parseId('store', text)
    return true
  } catch {
    return false
  }
}

/** `format` of a JSON object; undefined for other text, or without such a field. */
function formatOf(text: string): unknown {
  try {
    const json: unknown = JSON.parse(text)
    const isObject = typeof json === 'object' && json !== null && !Array.isArray(json)
    return isObject ? new Map(Object.entries(json)).get('format') : undefined
  } catch {
    return undefined
  }
}
