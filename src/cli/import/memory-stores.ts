// A store of the Memory Stores API: Anthropic's, or a server that speaks it. Its memories keep
// their paths. Everything from the server is hostile: pages, sizes, cursors and hashes are checked.

import { utf8 } from '../../bytes.ts'
import { sha256OfText } from '../../crypto/digest.ts'
import { StoreError } from '../../errors.ts'
import { MEBIBYTE, memoriesMax } from '../../limits.ts'
import { onlyLine } from '../../plain-input.ts'
import { parseRemoteUrl } from '../../transport/remote-url.ts'
import { CommandError, type Context, type Input, usageError } from '../call/command.ts'
import { readSecretFile } from '../machine/files.ts'
import { isObject } from '../machine/json.ts'
import { withProgress } from '../terminal/progress.ts'
import { getJson, protocolError, type ApiAddress } from './api-client.ts'
import {
  getSource,
  pathBelow,
  type TextCandidate,
  type FoundTexts,
  type LeftOutPart,
} from './source.ts'

const OFFICIAL = 'https://api.anthropic.com'
/** Memory Stores API §4.3: no page with contents has more. */
const PAGE_SIZE = 20
/** The largest store of the official API, 10,000 memories of 100 kB, is smaller. */
const TOTAL_BYTES_MAX = 1024 * MEBIBYTE
/** A page may be empty and not the last one. More than this in a row would never end. */
const EMPTY_PAGES_MAX = 100

export async function findMemoryStore(context: Context, input: Input): Promise<FoundTexts> {
  const storeId = getSource(input, 'the id of the store, memstore_…,')
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(storeId)) {
    throw usageError('The source must be the id of a store, memstore_…', 'import')
  }
  const address: ApiAddress = {
    url: addressOf(input.text('url') ?? OFFICIAL),
    key: keyOf(context),
    signal: context.interrupts.signal,
  }
  const listing = new Listing()
  await withProgress(context, 'Fetching', async ({ progress }) => {
    let cursor: string | undefined
    do {
      const page = cursor === undefined ? '' : `&page=${encodeURIComponent(cursor)}`
      const query = `view=full&limit=${PAGE_SIZE}${page}`
      const path = `/v1/memory_stores/${storeId}/memories?${query}`
      cursor = listing.add(await getJson(address, path))
      progress(listing.fetched.length, Number.POSITIVE_INFINITY)
    } while (cursor !== undefined)
  })
  const candidates = listing.fetched.map(({ path, bytes }): TextCandidate => {
    const name = path.replace(/^\//, '')
    return { path: pathBelow(input, '/', name), origin: path, read: () => bytes }
  })
  return { candidates, leftOut: [], unsuitable: listing.damaged }
}

/** The pages that were read. */
class Listing {
  readonly fetched: { readonly path: string; readonly bytes: Uint8Array }[] = []
  readonly damaged: LeftOutPart[] = []
  readonly #paths = new Set<string>()
  readonly #cursors = new Set<string>()
  #bytes = 0
  #emptyPages = 0

  /** Returns the cursor of the next page, if there is one. */
  add(page: unknown): string | undefined {
    if (!isObject(page) || !Array.isArray(page['data'])) throw protocolError('a page has no list')
    const { data, next_page: next = null } = page
    if (data.length > PAGE_SIZE) throw protocolError('a page has more memories than were asked for')
    for (const item of data) this.#addMemory(item)
    this.#emptyPages = data.length === 0 ? this.#emptyPages + 1 : 0
    if (next === null) return undefined
    if (typeof next !== 'string' || !next.isWellFormed()) throw protocolError('a cursor is no text')
    if (this.#cursors.has(next) || this.#emptyPages >= EMPTY_PAGES_MAX) {
      throw protocolError('its pages have no end')
    }
    this.#cursors.add(next)
    return next
  }

  #addMemory(item: unknown): void {
    if (!isObject(item) || item['type'] !== 'memory') throw protocolError('an item is no memory')
    const { path, content, content_sha256: hash } = item
    if (typeof path !== 'string' || !path.isWellFormed() || !path.startsWith('/')) {
      throw protocolError('a memory has no path')
    }
    // Also when one was moved in the meantime: then the next run finds it once.
    if (this.#paths.has(path)) throw protocolError('it lists a path twice')
    this.#paths.add(path)
    if (this.#paths.size > memoriesMax)
      throw protocolError(`it has more than ${memoriesMax} memories`)
    if (typeof content !== 'string') throw protocolError('a memory has no content')
    if (!content.isWellFormed() || sha256OfText(content) !== hash) {
      this.damaged.push({ origin: path, reason: 'its content does not have the stated hash' })
      return
    }
    const bytes = utf8(content)
    this.#bytes += bytes.length
    if (this.#bytes > TOTAL_BYTES_MAX) {
      throw protocolError(`it holds more than ${TOTAL_BYTES_MAX} bytes`)
    }
    this.fetched.push({ path, bytes })
  }
}

function addressOf(text: string): string {
  const url = parseRemoteUrl(text)
  if (url.kind === 'http') return url.text
  throw usageError('--url must be the address of a server, https://…', 'import')
}

/** From a file or a variable, never from an argument, which every process can read. */
function keyOf({ environment }: Context): string {
  const { anthropicApiKeyFile: file, anthropicApiKey } = environment
  const given = file === undefined ? anthropicApiKey : readSecretFile('the API key', file)
  const key = given && (onlyLine(given) ?? given)
  if (key === undefined) {
    throw new CommandError(
      'unauthenticated',
      'There is no API key to read the store with',
      'Set ANTHROPIC_API_KEY, or name a file that holds the key with ANTHROPIC_API_KEY_FILE',
      { place: '' },
    )
  }
  // A header holds nothing else, and an error about one would repeat it.
  if (/^[\u0021-\u007e]+$/.test(key)) return key
  throw new StoreError('invalid_input', 'The API key must be printable ASCII without spaces')
}
